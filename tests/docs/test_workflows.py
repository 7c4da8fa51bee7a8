"""The files that are there to be copied are what their readers take: forges, a linter of workflows, systemd."""

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

FOLDER = Path(__file__).parents[2] / "docs" / "ci"
WORKFLOWS = sorted(one for one in FOLDER.glob("*.yml") if one.name != "gitlab-ci.yml")


def tool(name: str) -> str:
    found = shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)
    return found or pytest.skip(f"{name} is not installed; it is in the dependency group lint")


def checked(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_workflow_is_of_github_s_schema(file: Path) -> None:
    assert "ok -- " in checked(tool("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", file)


def pipeline() -> dict[str, Any]:
    """GitLab's file with each ``extends`` carried out: a hidden job alone is free of any schema."""
    told: dict[str, Any] = yaml.safe_load((FOLDER / "gitlab-ci.yml").read_text())
    return {name: merged(told[one.pop("extends")], one) if "extends" in one else one for name, one in told.items()}


def merged(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    both = {name: merged(under[name], over[name]) for name in under.keys() & over if isinstance(over[name], dict)}
    return {**under, **over, **both}


def test_the_pipeline_is_of_gitlab_s_schema(tmp_path: Path) -> None:
    file = tmp_path / "gitlab-ci.yml"
    file.write_text(yaml.safe_dump({name: one for name, one in pipeline().items() if not name.startswith(".")}))
    files = (FOLDER / "gitlab-ci.yml", file)
    assert "ok -- " in checked(tool("check-jsonschema"), "--builtin-schema", "vendor.gitlab-ci", *files)


@pytest.mark.parametrize("job", ["mtp-nightly", "mtp-merge-request"])
def test_no_answer_is_no_red_job_in_gitlab_and_its_files_are_kept_whatever_came(job: str) -> None:
    told = pipeline()[job]
    assert told["allow_failure"] == {"exit_codes": [17]}
    assert (told["artifacts"]["when"], told["artifacts"]["paths"]) == ("always", ["out"])


def test_the_linter_of_workflows_finds_nothing() -> None:
    assert "No findings" in checked(tool("zizmor"), "--offline", "--no-progress", *WORKFLOWS)


def test_what_the_linter_is_told_to_ignore_is_named_here() -> None:
    ignored = {one for file in WORKFLOWS for one in re.findall(r"zizmor: ignore\[(.*?)\]", file.read_text())}
    assert ignored == {"artipacked", "dangerous-triggers"}


def test_actions_are_pinned_by_commit_and_say_which_release_it_is() -> None:
    used = [line.strip() for file in WORKFLOWS for line in file.read_text().splitlines() if "uses:" in line]
    assert used
    pinned = re.compile(r"uses: actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+( # zizmor: ignore\[artipacked\])?")
    assert [line for line in used if not pinned.fullmatch(line)] == []


def test_only_the_job_that_pushes_keeps_its_credentials() -> None:
    texts = [file.read_text() for file in WORKFLOWS]
    checkouts = sum(text.count("uses: actions/checkout@") for text in texts)
    assert sum(text.count("persist-credentials: false") for text in texts) == checkouts - 1
    assert sum(text.count("contents: write") for text in texts) == 1


def test_the_units_are_what_systemd_takes(tmp_path: Path) -> None:
    analyze = tool("systemd-analyze")
    for name in ("pytest-mtp.service", "pytest-mtp.timer"):
        # It looks for the program, which is on no machine that only tests.
        text = (FOLDER / name).read_text().replace("/opt/pytest-mtp/bin/pytest", "/bin/true")
        (tmp_path / name).write_text(text)
    said = checked(analyze, "verify", tmp_path / "pytest-mtp.service", tmp_path / "pytest-mtp.timer")
    assert "pytest-mtp" not in said


@pytest.mark.parametrize("name", ["nightly.yml", "gitlab-ci.yml", "pytest-mtp.service"])
def test_who_keeps_a_history_installs_what_judges_it(name: str) -> None:
    """Without the extra every night would end undecided."""
    text = (FOLDER / name).read_text()
    assert "--mtp-history" in text
    assert {"report", "nightly"} <= set(re.findall(r"'pytest-mtp\[([a-z,]+)\]'", text)[0].split(","))
