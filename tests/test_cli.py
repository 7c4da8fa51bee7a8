import argparse
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mtp.cli import COMMANDS, main
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.run_report import REPORT_VERSION, Judged, RunReport
from pytest_mtp.option_table import OPTIONS
from pytest_mtp.runtime.store import write_json
from tests.campaigns import around, campaign


def stored(folder: Path, speedup: float) -> Path:
    judged = Judged(campaign=campaign({"a": around(speedup, 0.01)}), gate=Gate(), floors={"a": 1.5})
    # What a file claims does not matter: only its samples are judged.
    claimed = replace(judged, results=replace(judged, campaign=campaign({"a": around(2.0, 0.01)})).rejudged().results)
    report = RunReport(
        version=REPORT_VERSION,
        created_at="2026-01-01T00:00:00+00:00",
        tool="t",
        profile="p",
        machine={},
        judged=(claimed,),
    )
    write_json(folder / "r.json", report)
    return folder / "r.json"


@pytest.mark.parametrize(("speedup", "status", "said"), [(2.0, 0, "PASS"), (1.2, 1, "REGRESSION")])
def test_a_report_is_judged_again_from_its_samples(
    speedup: float, status: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(stored(tmp_path, speedup))]) == status
    assert said in capsys.readouterr().out


def test_a_missing_report_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path / "none.json")]) == 2
    assert capsys.readouterr().err.startswith("pytest-mtp: There is no ")


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The line by bash, where ``$MTP`` is the command."""
    more = {"MTP": f"{sys.executable} -m pytest_mtp.cli", **environment}
    words = ["bash", "-o", "pipefail", "-c", line]
    return subprocess.run(words, env={**os.environ, **more}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("line", "status", "complaint"),
    [
        ("$MTP profile list | true", 141, ""),
        ("$MTP profile list > /dev/full", 2, "pytest-mtp: [Errno 28] No space left on device. Mend"),
        ("$MTP profile check phantom >&-", 0, ""),
        ("$MTP profile check phantm 2>&-", 1, ""),
    ],
)
def test_an_output_that_takes_nothing_is_no_traceback(line: str, status: int, complaint: str) -> None:
    done = shell(line)
    assert done.returncode == status
    assert done.stderr.startswith(complaint)
    assert len(done.stderr.splitlines()) == bool(complaint)


def test_a_locale_without_its_letters_shows_a_text_all_the_same(tmp_path: Path) -> None:
    text = 'extends = "phantom"\nname = "größe"\ndescription = "☃"\n'
    (tmp_path / "p.toml").write_text(text, encoding="utf-8")
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = shell(f"$MTP profile show {tmp_path}/p.toml", **ascii_only)
    assert (done.returncode, done.stderr) == (0, "")
    assert 'name = "gr\\xf6\\xdfe"' in done.stdout


def test_ctrl_c_is_one_word(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(_path: Path) -> RunReport:
        raise KeyboardInterrupt

    monkeypatch.setattr("pytest_mtp.runtime.store.load_report", interrupted)
    assert main(["report", "r.json"]) == 130
    assert capsys.readouterr().err == "Interrupted.\n"


def test_an_error_that_quotes_escape_codes_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "\x1b[2Jnothing.json"]) == 2
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_speaks_of_its_own_options_and_not_of_pytest_s(name: str) -> None:
    parser = argparse.ArgumentParser()
    COMMANDS[name].add_arguments(parser)
    shared = {f"--{option.name}" for option in OPTIONS}
    told = {one: action.help or "" for action in parser._actions for one in action.option_strings if one in shared}
    assert {one: text for one, text in told.items() if "--mtp" in text} == {}


def test_help_shows_every_command_once_with_what_it_is_for_in_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main(["--help"])
    told = capsys.readouterr().out
    assert max(map(len, told.splitlines())) < 80
    words = " ".join(told.split())
    assert [words.count(f" {name} {command.HELP}") for name, command in COMMANDS.items()] == [1] * len(COMMANDS)
