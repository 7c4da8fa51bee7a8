"""The example is what its README says, and runs: a user copies it as it stands."""

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from pytest_mtp.commands import init
from pytest_mtp.core.build_spec import Build
from pytest_mtp.runtime.profiles import load_profile
from pytest_mtp.runtime.store import load_baseline
from tests.docs.test_workflows import checked, tool
from tests.real.conftest import real_build

assert real_build  # a fixture, used by its name

EXAMPLE = Path(__file__).parents[2] / "examples" / "own-fork"
PROFILE = EXAMPLE / "mtp" / "profile.toml"
BASELINES = sorted(EXAMPLE.glob("mtp/baselines/*/*.json"))
SCRIPT = str(Path(sysconfig.get_path("scripts")) / "pytest-mtp")
GATE = ("gate", "mtp", "--mtp-profile=mtp/profile.toml")


def test_the_readme_names_every_file_and_the_command_of_the_workflow() -> None:
    readme = (EXAMPLE / "README.md").read_text()
    named = set(re.findall(r"^\| `([^`]+)` \|", readme, re.MULTILINE))
    there = {
        str(one.relative_to(EXAMPLE)) for one in EXAMPLE.rglob("*") if one.is_file() and "__pycache__" not in one.parts
    }
    assert {one for one in there if not one.startswith("mtp/baselines/")} - {"README.md"} == named - {"mtp/baselines/"}
    command = re.search(r"pytest-mtp (gate .*)", readme)
    assert command
    assert command[1] in " ".join((EXAMPLE / init.WORKFLOW).read_text().replace("\\\n", " ").replace('"', "").split())


def test_the_workflow_is_the_one_that_init_writes() -> None:
    assert (EXAMPLE / init.WORKFLOW).read_text() == init.written("phantom", gpu=False)[init.WORKFLOW]


def test_the_profile_has_no_problem() -> None:
    assert checked(SCRIPT, "profile", "check", PROFILE) == f"Profile {PROFILE}: no problem found.\n"
    assert [one.name for one in load_profile(str(PROFILE)).classes] == ["miss00", "miss20"]


def test_the_baseline_is_of_the_schema_and_of_the_profile() -> None:
    schema = Path(init.__file__).parents[1] / "schemas" / "baseline.json"
    assert "ok -- " in checked(tool("check-jsonschema"), "--schemafile", schema, *BASELINES)
    profile = load_profile(str(PROFILE))
    (stored,) = map(load_baseline, BASELINES)
    (recorded,) = stored.recorded
    assert (stored.profile, recorded.campaign.classes) == (profile.name, tuple(one.name for one in profile.classes))
    assert recorded.campaign.circumstances.request == profile.request.as_circumstances()
    assert len(recorded.campaign.valid) in profile.gates.looks
    assert "b11434" in checked(SCRIPT, "baseline", "show", "--baselines", EXAMPLE / "mtp" / "baselines")


def test_no_folder_of_whoever_recorded_it_is_told() -> None:
    told = {one for path in BASELINES for one in re.findall(r'[ "](/\w+/[\w-]+)', path.read_text())}
    assert {one for one in told if not one.startswith("/tmp/mtp-servers")} == {"/home/runner"}


@pytest.mark.real
def test_its_gate_runs_and_the_promise_is_broken_by_a_broken_head(real_build: Build, tmp_path: Path) -> None:
    fork = tmp_path / "fork"
    shutil.copytree(EXAMPLE, fork)
    # Baselines of its own: that of the example is of one machine, on one day.
    more = (f"--mtp-source=bin:{real_build.server}", "--mtp-baselines=none", "--mtp-set=gates.looks=[2]")

    def promised(*words: str) -> subprocess.CompletedProcess[str]:
        command = [SCRIPT, *GATE, *more, "-k", "promised", *words]
        return subprocess.run(command, cwd=fork, capture_output=True, text=True, check=False)

    sound, broken = promised(), promised("--mtp-model=phantom:head=broken")
    assert (sound.returncode in {0, 17}, "2 passed" in sound.stdout) == (True, True), sound.stdout + sound.stderr
    assert (broken.returncode, "2 failed" in broken.stdout) == (1, True), broken.stdout + broken.stderr
