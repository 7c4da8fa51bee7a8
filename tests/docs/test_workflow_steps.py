"""The scripts inside the files do what their comments say: each is run as the runner runs it, with tools of straw."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml  # type: ignore[import-untyped]

from pytest_mtp.core.profile import Gate
from pytest_mtp.core.run_report import REPORT_VERSION, Judged, RunReport
from tests.comparisons import base, compared, stretched
from tests.hostile import WORDS

FOLDER = Path(__file__).parents[2] / "docs" / "ci"
JOBS = {"nightly": "measure", "pull-request": "measure", "pull-request-comment": "comment"}
BASH = ("bash", "--noprofile", "--norc", "-e", "-c")


def script(file: str, step: str, job: str | None = None) -> str:
    """The ``run`` of a step of a workflow."""
    steps = yaml.safe_load((FOLDER / f"{file}.yml").read_text())["jobs"][job or JOBS[file]]["steps"]
    return str(next(one["run"] for one in steps if one.get("name") == step))


def run(text: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "GITHUB_OUTPUT": str(folder / "output"),
        "GPU": "rtx3090",
    }
    return subprocess.run(
        [*BASH, text], cwd=folder, env=known | environment, capture_output=True, text=True, check=False, timeout=60
    )


def straw(folder: Path, name: str, text: str) -> None:
    """A program on the path."""
    (folder / "bin").mkdir(exist_ok=True)
    program = folder / "bin" / name
    program.write_text(f"#!/bin/bash\n{text}\n")
    program.chmod(0o755)


@pytest.mark.parametrize("file", ["nightly", "pull-request"])
@pytest.mark.parametrize(
    ("status", "green", "said"),
    [
        ("0", True, ""),
        ("17", True, "::warning title=MTP::No answer"),
        ("1", False, "::error title=MTP::"),
        ("2", False, "ended with status 2"),
        ("", False, "ended with status none"),
    ],
)
def test_the_job_ends_as_the_status_says(file: str, status: str, *, green: bool, said: str, tmp_path: Path) -> None:
    done = run(script(file, "Verdict"), tmp_path, STATUS=status)
    assert (done.returncode == 0) is green
    assert said in done.stdout


def test_a_night_that_is_red_by_its_history_says_so(tmp_path: Path) -> None:
    done = run(script("nightly", "Verdict"), tmp_path, STATUS="18")
    assert done.returncode == 1
    assert "by its history" in done.stdout


@pytest.fixture
def night(tmp_path: Path) -> Path:
    """A checkout with a history of one night, and a pytest that adds the next and says something hostile."""
    history = tmp_path / "history"
    (history / "rtx3090").mkdir(parents=True)
    (history / "rtx3090" / "first.json").write_text("{}")
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "a"]):
        subprocess.run(["git", *command], cwd=history, check=True, timeout=60)
    said = 'printf "%s\\n" "$@" > arguments; echo "::add-mask::x"'
    straw(tmp_path, "pytest", f'{said}; echo new > "history/rtx3090/second night.json"; exit 18')
    (tmp_path / "mtp").symlink_to(tmp_path)
    return tmp_path


def test_the_night_keeps_its_status_and_hands_on_what_it_added(night: Path) -> None:
    done = run(script("nightly", "Measure"), night, RUNNER_TEMP=str(night), PROFILE="p")
    assert done.returncode == 0, done.stderr
    assert (night / "output").read_text() == "status=18\n"
    assert [file.name for file in (night / "out" / "history").iterdir()] == ["second night.json"]
    given = (night / "arguments").read_text().splitlines()
    for option, value in (("--mtp-history", "history/rtx3090"), ("--mtp-out", "out"), ("--junitxml", "out/junit.xml")):
        assert given[given.index(option) + 1] == value


def test_no_line_of_the_measurement_is_a_command_of_the_workflow(night: Path) -> None:
    lines = run(script("nightly", "Measure"), night, RUNNER_TEMP=str(night), PROFILE="p").stdout.splitlines()
    token = lines[0].removeprefix("::stop-commands::")
    assert len(token) == 36
    assert lines == [f"::stop-commands::{token}", "::add-mask::x", f"::{token}::"]


def test_the_history_only_grows(tmp_path: Path) -> None:
    cell = tmp_path / "cells" / "cell-rtx3090" / "history"
    cell.mkdir(parents=True)
    old = tmp_path / "history" / "rtx3090"
    old.mkdir(parents=True)
    (old / "first.json").write_text("kept")
    (cell / "first.json").write_text("changed")
    (cell / "second night.json").write_text("new")
    (cell / "notes.txt").write_text("no run")
    (cell / "link.json").symlink_to("/etc/passwd")
    done = run(script("nightly", "Add", "remember"), tmp_path)
    assert done.returncode == 0, done.stderr
    assert {file.name: file.read_text() for file in old.iterdir()} == {"first.json": "kept", "second night.json": "new"}


def comparison(mtp: float) -> dict[str, Any]:
    """A stored comparison, as JSON."""
    one = base()
    head = stretched(one, mtp=mtp, build="b2")
    judged = Judged(campaign=head, gate=Gate(), compared=compared(one)).rejudged()
    report = RunReport(version=REPORT_VERSION, created_at="n", tool="t", profile="p", machine={}, judged=(judged,))
    found: dict[str, Any] = msgspec.to_builtins(report)
    return found


def commented(document: object, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "artifact").mkdir()
    (folder / "artifact" / "comparison.json").write_text(json.dumps(document))
    known = {"RUNNER_TEMP": str(folder), "RUN_URL": "https://example.org/run/1", "PATH": os.environ["PATH"]}
    text = script("pull-request-comment", "Write the comment")
    return subprocess.run(
        [sys.executable, "-I", "-c", text], env=known, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize(
    ("mtp", "verdict", "row"),
    [(1.15, "FAIL", "| a | 200.4 → 174.4 | -13.0% | "), (1.0, "PASS, no class lost", "| b | ")],
)
def test_the_comment_has_the_verdict_and_a_row_for_each_class(
    mtp: float, verdict: str, row: str, tmp_path: Path
) -> None:
    done = commented(comparison(mtp=mtp), tmp_path)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "comment.md").read_text().splitlines()
    assert lines[:2] == ["<!-- pytest-mtp -->", f"### MTP: {verdict}"]
    assert any(line.startswith(row) for line in lines)


def test_of_a_hostile_artifact_only_numbers_and_known_words_are_told(tmp_path: Path) -> None:
    document = comparison(mtp=1.15)
    [judged] = document["judged"]
    for result in judged["results"]:
        result["prompt_class"] = WORDS
        result["speed"] = {"outcome": f"PASS {WORDS}", "reason": WORDS}
        result["against"] |= {"mtp": "nan", "low": "1e300", "mtp_tps": True}
    assert commented(document, tmp_path).returncode == 0
    text = (tmp_path / "comment.md").read_text()
    assert text.splitlines()[1] == "### MTP: ERROR, something was not measured"
    assert "| (a name) | 1.0 → 174.4 | - | - to " in text
    assert "UNKNOWN |" in text
    for trick in ("<script", "@everyone", "evil", "::", "\x1b"):
        assert trick not in text


@pytest.mark.parametrize(
    "document",
    [
        {"judged": "x"},
        {"judged": [{"results": [{"prompt_class": "a", "speed": {"outcome": []}, "drafts": {}}], "rates": []}]},
        {"judged": [{"results": [{"prompt_class": "a"}], "rates": []}]},
        [1],
    ],
)
def test_an_artifact_that_is_no_report_leaves_no_comment(document: object, tmp_path: Path) -> None:
    assert commented(document, tmp_path).returncode != 0
    assert not (tmp_path / "comment.md").exists()


def test_an_empty_report_is_an_error_and_no_pass(tmp_path: Path) -> None:
    assert commented({"judged": []}, tmp_path).returncode == 0
    assert "### MTP: ERROR" in (tmp_path / "comment.md").read_text()


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_a_pull_request_is_found_by_the_commit_that_was_measured(tmp_path: Path) -> None:
    pulls = [{"number": 7, "head": {"sha": "old"}}, {"number": 8, "head": {"sha": "measured"}}]
    straw(tmp_path, "gh", f"cat <<'END'\n{json.dumps(pulls)}\nEND\nprintf '%s\\n' \"$@\" > arguments")
    told = {"GH_REPO": "o/r", "HEAD_OWNER": "stranger", "HEAD_BRANCH": "x; $(id)", "HEAD_SHA": "measured"}
    done = run(script("pull-request-comment", "Find the pull request"), tmp_path, **told)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "output").read_text() == "number=8\n"
    assert "head=stranger:x; $(id)" in (tmp_path / "arguments").read_text().splitlines()


def test_the_cron_line_mails_what_is_red_and_nothing_else(tmp_path: Path) -> None:
    line = (FOLDER / "crontab").read_text().splitlines()[-1]
    command = line.removeprefix("17 2 * * * ")
    folder = tmp_path / "mtp"
    (folder / ".venv" / "bin").mkdir(parents=True)
    for status, mailed in ((0, ""), (17, ""), (18, "said\n"), (1, "said\n")):
        program = folder / ".venv" / "bin" / "pytest"
        program.write_text(f"#!/bin/sh\necho said\nexit {status}\n")
        program.chmod(0o755)
        done = subprocess.run(
            ["sh", "-c", command],
            env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.stdout == mailed
