"""``pytest-mtp init``: what it writes runs, is what forges take, and is never written over anything."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from pytest_mtp.cli import main
from pytest_mtp.commands import init
from pytest_mtp.core.build_spec import Build
from pytest_mtp.core.source import parse_source
from pytest_mtp.runtime.profiles import load_profile
from tests.docs.test_workflows import WORKFLOWS, checked, tool
from tests.fakes.gguf_file import small_model
from tests.plugin.gates import fake_profile, fake_server
from tests.real.conftest import SMALL, real_build

assert real_build  # a fixture, used by its name

FILES = {init.SUITE, init.PROFILE, init.WORKFLOW}
COPIES = ("phantom", "rtx3090-qwen3.6-27b", "phantom-gpu")


def files(folder: Path) -> set[str]:
    return {str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file()}


def measured(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """The suite that was written, by pytest in the folder it was written into."""
    words = [sys.executable, "-m", "pytest", init.SUITE, "--mtp", f"--mtp-cache-dir={folder / 'cache'}", *more]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


def test_a_suite_a_profile_and_a_workflow_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / "new" / "fork")]) == 0
    assert files(tmp_path / "new" / "fork") == FILES
    said = capsys.readouterr().out
    assert [name for name in FILES if name not in said] == []
    assert "  pytest-mtp gate mtp --mtp-profile=mtp/profile.toml --mtp-baselines=mtp/baselines\n" in said
    assert "--mtp-gpu" not in said


@pytest.mark.parametrize("there", sorted(FILES))
@pytest.mark.parametrize("kind", ["file", "dangling link"])
def test_nothing_is_overwritten_and_then_nothing_is_written(
    there: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / there
    path.parent.mkdir(parents=True)
    if kind == "file":
        path.write_text("mine")
    else:
        path.symlink_to("nowhere")
    assert main(["init", str(tmp_path)]) == 2
    assert f"nothing is overwritten: {path} is there already" in capsys.readouterr().err
    assert files(tmp_path) == ({there} if kind == "file" else set())
    assert kind != "file" or path.read_text() == "mine"


@pytest.mark.parametrize("copied", COPIES)
def test_the_profile_is_the_copied_one_under_a_name_of_its_own(copied: str, tmp_path: Path) -> None:
    assert main(["init", str(tmp_path), "--profile", copied]) == 0
    own, shipped = load_profile(str(tmp_path / init.PROFILE)), load_profile(copied)
    assert own.name == f"own-{copied}"
    assert (own.classes, own.server, own.flag_sets) == (shipped.classes, shipped.server, shipped.flag_sets)
    assert parse_source(own.source.spec)


@pytest.mark.parametrize("copied", ["vllm-qwen3.5-9b", "nothing", "../profiles/phantom"])
def test_what_is_no_profile_of_llama_cpp_is_refused(
    copied: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", str(tmp_path), "--profile", copied]) == 2
    assert f"--profile {copied} is no shipped profile of llama.cpp: copy one of phantom, " in capsys.readouterr().err
    assert files(tmp_path) == set()


def test_a_file_in_the_place_of_the_folder_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["init", str(tmp_path / "file")]) == 2
    assert "is no folder; name one" in capsys.readouterr().err


@pytest.fixture(params=["phantom", "rtx3090-qwen3.6-27b"])
def workflow(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The workflow for the CPU, and that for a card."""
    assert main(["init", str(tmp_path), "--profile", request.param]) == 0
    return tmp_path / init.WORKFLOW


def test_the_workflow_is_what_github_and_its_linter_take(workflow: Path) -> None:
    assert "ok -- " in checked(tool("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", workflow)
    assert "No findings" in checked(tool("zizmor"), "--offline", "--no-progress", workflow)


def test_its_actions_are_the_pinned_ones_of_the_documented_workflows(workflow: Path) -> None:
    def used(file: Path) -> set[str]:
        return set(re.findall(r"uses: (\S+ # v\S+)", file.read_text()))

    known = {one for file in WORKFLOWS for one in used(file)}
    assert used(workflow)
    assert used(workflow) <= known
    assert "zizmor: ignore" not in workflow.read_text()


def test_a_card_is_measured_for_nobody_but_the_repository_itself(tmp_path: Path) -> None:
    gate = {}
    for copied in ("phantom", "rtx3090-qwen3.6-27b"):
        main(["init", str(tmp_path / copied), "--profile", copied])
        gate[copied] = yaml.safe_load((tmp_path / copied / init.WORKFLOW).read_text())["jobs"]["gate"]
    cpu, card = gate["phantom"], gate["rtx3090-qwen3.6-27b"]
    assert "head.repo.full_name == github.repository" in card["if"]
    assert (cpu["runs-on"], card["runs-on"]) == ("ubuntu-latest", ["self-hosted", "rtx3090"])
    assert cpu["steps"] == [_without_card(step) for step in card["steps"]]


def _without_card(step: dict[str, str]) -> dict[str, str]:
    return {key: text.replace(" --mtp-gpu", "") if key == "run" else text for key, text in step.items()}


def test_the_command_of_the_workflow_is_the_one_that_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["init", str(tmp_path)])
    told = next(line for line in capsys.readouterr().out.splitlines() if "pytest-mtp gate" in line).split()
    written = (tmp_path / init.WORKFLOW).read_text().replace("\\\n", " ").replace('/bin/pytest-mtp"', "/bin/pytest-mtp")
    assert " ".join(told[1:]) in " ".join(written.split())


def test_the_suite_measures_and_finds_a_head_that_is_wrong(tmp_path: Path) -> None:
    main(["init", str(tmp_path)])
    (tmp_path / "fake.toml").write_text(fake_profile(a=None, b=None))
    (tmp_path / "model.gguf").write_bytes(small_model())
    told = (f"--mtp-profile={tmp_path / 'fake.toml'}", f"--mtp-model={tmp_path / 'model.gguf'}")
    source = fake_server(tmp_path / "llama-server", "honest")
    sound = measured(tmp_path, *told, f"--mtp-source={source}", "--mtp-update-baselines=new")
    assert (sound.returncode, "4 passed, 1 skipped" in sound.stdout) == (0, True), sound.stdout + sound.stderr
    again = measured(tmp_path, *told, f"--mtp-source={source}")
    assert (again.returncode, "5 passed" in again.stdout) == (0, True), again.stdout + again.stderr


@pytest.mark.real
def test_the_suite_measures_the_real_server_and_finds_a_broken_head(real_build: Build, tmp_path: Path) -> None:
    main(["init", str(tmp_path)])
    told = (f"--mtp-profile={SMALL}", f"--mtp-source=bin:{real_build.server}", "--mtp-set=gates.looks=[2]")
    sound = measured(tmp_path, *told, "-k", "worth or waits")
    assert (sound.returncode in {0, 17}, "4 passed" in sound.stdout) == (True, True), sound.stdout + sound.stderr
    broken = measured(tmp_path, *told, "-k", "worth or waits", "--mtp-model=phantom:head=broken")
    assert (broken.returncode, "2 failed, 2 passed" in broken.stdout) == (1, True), broken.stdout + broken.stderr
