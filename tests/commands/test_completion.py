"""What a shell is told when it asks, and that nobody else pays for it."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from pytest_mtp.cli import COMMANDS
from pytest_mtp.option_table import OPTIONS
from pytest_mtp.runtime.profiles import shipped

SCRIPTS = Path(sysconfig.get_path("scripts"))


def completed(line: str, folder: Path, *before: str) -> list[str]:
    """What bash would offer at the end of the line; argcomplete answers at descriptor 8."""
    asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "COMP_LINE": line, "COMP_POINT": str(len(line))}
    command = [*before, str(SCRIPTS / "pytest-mtp")]
    words = ["bash", "-c", 'exec 8>answer; exec "$@"', "bash", *command]
    subprocess.run(words, cwd=folder, env={**os.environ, **asked}, capture_output=True, check=False)
    return [one.rstrip() for one in (folder / "answer").read_text().splitlines()]


def test_every_command_is_offered(tmp_path: Path) -> None:
    assert set(COMMANDS) <= set(completed("pytest-mtp ", tmp_path))


def test_the_options_of_a_command_are_offered(tmp_path: Path) -> None:
    assert completed("pytest-mtp tune --blo", tmp_path) == ["--blocks"]


@pytest.mark.parametrize("begun", ["doctor --profile", "gate --mtp-profile", "init --profile"])
def test_profiles_are_offered_and_files_of_one_s_own(begun: str, tmp_path: Path) -> None:
    (tmp_path / "qwen-mine.toml").touch()
    (tmp_path / "qwen-mine.txt").touch()
    own = {one for one in shipped() if one.startswith("qwen")} | {"qwen-mine.toml"}
    assert set(completed(f"pytest-mtp {begun} qwen", tmp_path)) == own


def test_of_pytest_s_options_the_gate_offers_ours(tmp_path: Path) -> None:
    assert {"--mtp", "--mtp-gpu", *(one.flag for one in OPTIONS)} == set(completed("pytest-mtp gate --mtp", tmp_path))


def test_shells_that_look_for_the_mark_find_it(tmp_path: Path) -> None:
    # As its global activation asks; nothing public does.
    check = [sys.executable, "-m", "argcomplete._check_console_script", str(SCRIPTS / "pytest-mtp")]
    assert subprocess.run(check, cwd=tmp_path, check=False).returncode == 0


def test_without_argcomplete_a_shell_gets_no_traceback(tmp_path: Path) -> None:
    code = "import sys; sys.modules['argcomplete'] = None; from pytest_mtp.cli import main; main([])"
    asked = {**os.environ, "_ARGCOMPLETE": "1", "COMP_LINE": "pytest-mtp ", "COMP_POINT": "11"}
    done = subprocess.run([sys.executable, "-c", code], env=asked, capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)


def test_who_asks_for_no_completion_imports_none(tmp_path: Path) -> None:
    words = [sys.executable, "-X", "importtime", "-m", "pytest_mtp.cli", "profile", "check", "phantom"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "pytest_mtp.commands.completion" in modules
    assert "argcomplete" not in modules
