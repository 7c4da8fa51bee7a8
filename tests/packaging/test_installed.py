"""The wheel, installed by itself, works in a folder that is not the checkout."""

import subprocess
from pathlib import Path

import pytest

from pytest_mtp.cli import COMMANDS
from tests.packaging.built import ROOT
from tests.packaging.conftest import Installed


def test_what_runs_is_what_was_installed(installed: Installed) -> None:
    done = installed.run("python", "-c", "import pytest_mtp; print(pytest_mtp.__file__)")
    assert Path(done.stdout.strip()).is_relative_to(installed.environment)


def test_help_names_every_command(installed: Installed) -> None:
    done = installed.run("pytest-mtp", "--help")
    assert done.returncode == 0
    assert [name for name in COMMANDS if f"\n  {name} " not in done.stdout] == []


def test_profile_list_reads_every_profile(installed: Installed) -> None:
    done = installed.run("pytest-mtp", "profile", "list")
    assert done.returncode == 0
    assert [one.stem for one in (ROOT / "pytest_mtp/profiles").glob("*.toml") if one.stem not in done.stdout] == []


def test_the_suites_are_collected_from_the_package(installed: Installed) -> None:
    done = installed.run("pytest", "--pyargs", "pytest_mtp.suites", "--mtp", "--mtp-dear", "--collect-only", "-q")
    assert done.returncode == 0, done.stdout + done.stderr
    suites = {one.name for one in (ROOT / "suites").glob("test_*.py")}
    assert {line.partition("::")[0].rpartition("/")[2] for line in done.stdout.splitlines() if "::" in line} == suites
    assert str(ROOT) not in done.stdout


def test_a_repository_of_ones_own_gets_its_files_from_the_templates(installed: Installed, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    done = Installed(installed.environment, tmp_path).run("pytest-mtp", "init")
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.rglob("test_*.py"))


@pytest.mark.parametrize("module", ["jinja2", "otava", "distributed"])
def test_no_extra_is_there_unasked(installed: Installed, module: str) -> None:
    assert installed.run("python", "-c", f"import {module}").returncode == 1
