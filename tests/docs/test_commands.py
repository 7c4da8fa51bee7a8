"""Every command that the pages tell people to type is understood by the program that gets it, and runs where it can.

A program whose lines cannot be tried here has its reason in a table, and a row that no page needs fails a test.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pytest_mtp import cli
from pytest_mtp.cli import COMMANDS, main
from pytest_mtp.commands.protocol import Command
from pytest_mtp.core.source import parse_source
from pytest_mtp.errors import SettingsError
from pytest_mtp.option_table import OPTIONS
from pytest_mtp.options import read_settings
from pytest_mtp.resolution import checked_profile
from pytest_mtp.runtime.history import History
from pytest_mtp.runtime.store import write_json
from tests.docs.documented import PAGES, ROOT, Typed, inline, typed
from tests.reports_of_runs import run_report

TYPED = sorted(set(typed()), key=str)

NOT_TRIED: Mapping[str, str] = {
    ".": "of the shell",
    "cd": "of the shell",
    "eval": "of the shell; tests/commands/test_completion.py completes",
    "export": "of the shell",
    "apt": "changes the system and needs its network",
    "openssl": "of the system; the tests of the cluster make certificates of their own",
    "activate-global-python-argcomplete": "changes the user's shell; takes no argument here",
}
"""Programs of which no word is checked, and why."""

NOT_RUN: Mapping[tuple[str, ...], str] = {
    ("pytest",): "a card, or minutes; parsed, its profile resolved; the gate itself runs in tests/real and .ci/run",
    ("make",): "minutes; `make -n` knows the target",
    ("pip",): "needs the network; the extras are read in pyproject.toml",
    ("python3",): "makes this environment",
    ("git",): "would change a checkout; the subcommand is known",
    ("dask",): "servers without an end; tests/runtime/fleet starts them",
    ("gpu-check.sh",): "needs a card",
    ("check-jsonschema",): "tests/docs/test_workflows.py runs it",
    ("zizmor",): "tests/docs/test_workflows.py runs it",
    ("systemd-analyze",): "tests/docs/test_workflows.py runs it",
    ("pytest-mtp", "bisect"): "builds; tests/commands/test_bisect.py",
    ("pytest-mtp", "compare"): "builds; of two stored reports it runs below",
    ("pytest-mtp", "fleet", "run"): "measures; tests/commands/test_fleet.py",
    ("pytest-mtp", "fleet", "report"): "what is shown was measured before; tests/commands/test_fleet.py",
    ("pytest-mtp", "gate"): "minutes; tests/commands/test_gate.py",
    ("pytest-mtp", "runpod"): "rents; tests/commands/test_runpod.py",
    ("pytest-mtp", "serve"): "a server without an end; tests/commands/test_serve.py",
}
"""Commands that are parsed by their own parser and not run, and why."""

RUN: Mapping[tuple[str, ...], tuple[int, ...]] = {
    ("pytest-mtp", "compare", "monday.json"): (0, 17),
    ("pytest-mtp", "baseline", "show"): (0,),
    ("pytest-mtp", "doctor"): (0, 1),  # 1 on a machine that lacks a card
    ("pytest-mtp", "fleet", "plan"): (0,),
    ("pytest-mtp", "history"): (0,),
    ("pytest-mtp", "init"): (0,),
    ("pytest-mtp", "profile"): (0,),
}
"""Commands that run, and the exit statuses that they may have."""


def row(table: Mapping[tuple[str, ...], object], command: Typed) -> tuple[str, ...] | None:
    """The longest row that a command begins with."""
    words = (command.program, *command.words[1:])
    found = [one for one in table if words[: len(one)] == one]
    return max(found, key=len, default=None)


def runs(command: Typed) -> bool:
    ran, left = row(RUN, command), row(NOT_RUN, command)
    return ran is not None and len(ran) > len(left or ())


def test_every_command_is_run_or_has_its_reason() -> None:
    assert [str(one) for one in TYPED if not (runs(one) or row(NOT_RUN, one) or one.program in NOT_TRIED)] == []


def test_no_reason_is_left_of_a_command_that_no_page_has() -> None:
    assert {one.program for one in TYPED} >= set(NOT_TRIED)
    assert {row(NOT_RUN, one) for one in TYPED if not runs(one)} >= set(NOT_RUN)
    assert {row(RUN, one) for one in TYPED if runs(one)} >= set(RUN)


# Parsed

_SOURCE = re.compile(r"(release|sdist|git|pr|dir|bin):")


def by_pytest(words: Sequence[str], pytester: pytest.Pytester) -> None:
    """Parse as pytest does, resolve settings and profile for whatever machine, and look for what is named."""
    for name in (one.partition("::")[0] for one in words if one.endswith(".py")):
        assert (ROOT / name).is_file()
    (pytester.path / "suites").symlink_to(ROOT / "suites")
    config = pytester.parseconfig("-s", *(stands_for(one, pytester.path) for one in words))
    checked_profile(read_settings(config))


def stands_for(word: str, folder: Path) -> str:
    """What a reader puts in the place of a word in capitals."""
    own = {"PATH/suites": "suites", "PATH/baselines": "baselines", "mtp/profile.toml": "mine.toml"}
    option, _, value = word.rpartition("=")
    if value == "mtp/profile.toml":
        (folder / "mine.toml").write_text(MINE)
    found = own.get(value, value)
    return f"{option}={found}" if option else found


def by_ours(words: Sequence[str], pytester: pytest.Pytester) -> None:
    """Parse by our own parser; what a command hands on is parsed by whom it is for."""
    parsed = cli._parsed(words)
    for source in (one for one in words if _SOURCE.match(one)):
        parse_source(source)
    if parsed.command == "gate":
        by_pytest(["--mtp", *(one for one in parsed.passed_on if one != "mtp")], pytester)
    if parsed.command == "runpod" and "--" in words:
        behind = words[words.index("--") + 1 :]
        by_ours(["serve", *behind], pytester) if words[1] == "up" else by_pytest(behind, pytester)


def by_pip(words: Sequence[str], _pytester: pytest.Pytester) -> None:
    """The extras are there."""
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert words[0] == "install"
    extras = [one for word in words for one in re.findall(r"\[(.*)\]", word)]
    assert extras
    assert {name for one in extras for name in one.split(",")} <= set(known)


def by_make(words: Sequence[str], _pytester: pytest.Pytester) -> None:
    """Make knows the target."""
    assert subprocess.run(["make", "-n", *words], cwd=ROOT, capture_output=True, check=False).returncode == 0


def by_git(words: Sequence[str], _pytester: pytest.Pytester) -> None:
    """Git has the subcommand."""
    told = subprocess.run(["git", "--list-cmds=main"], capture_output=True, text=True, check=True)
    assert words[0] in told.stdout.split()


def by_python(words: Sequence[str], _pytester: pytest.Pytester) -> None:
    """Python has the module."""
    assert words[0] == "-m"
    assert subprocess.run([sys.executable, "-m", words[1], "--help"], capture_output=True, check=False).returncode == 0


def by_script(words: Sequence[str], _pytester: pytest.Pytester) -> None:
    """The script says how it is used."""
    script = ROOT / "scripts" / "gpu-check.sh"
    said = subprocess.run([script, "--help"], capture_output=True, text=True, check=True)
    assert f"scripts/gpu-check.sh {words[0]}" in said.stdout


def by_help(program: str) -> Callable[[Sequence[str], pytest.Pytester], None]:
    """Every option of a program of others is in its help."""

    def check(words: Sequence[str], _pytester: pytest.Pytester) -> None:
        where = shutil.which(program, path=f"{Path(sys.executable).parent}:/usr/bin:/bin")
        if where is None:
            pytest.skip(f"{program} is not installed")
        verb = [one for one in words[:1] if not one.startswith("-") and program == "dask"]
        told = subprocess.run([where, *verb, "--help"], capture_output=True, text=True, check=True).stdout
        assert [one for one in words if one.startswith("--") and one not in told] == []

    return check


PARSERS: Mapping[str, Callable[[Sequence[str], pytest.Pytester], None]] = {
    "pytest": by_pytest,
    "pytest-mtp": by_ours,
    "pip": by_pip,
    "make": by_make,
    "git": by_git,
    "python3": by_python,
    "gpu-check.sh": by_script,
    **{one: by_help(one) for one in ("dask", "check-jsonschema", "zizmor", "systemd-analyze")},
}


@pytest.mark.parametrize("command", [one for one in TYPED if one.program not in NOT_TRIED], ids=str)
def test_a_command_is_understood(command: Typed, pytester: pytest.Pytester) -> None:
    PARSERS[command.program](command.words[1:], pytester)


@pytest.mark.parametrize(
    "words",
    [["--mtp-sauce", "x"], ["--mtp-profile", "phantm"], ["--mtp-set", "server.ctxx=1"], ["suites/test_gone.py"]],
)
def test_what_pytest_would_refuse_is_seen(words: list[str], pytester: pytest.Pytester) -> None:
    with pytest.raises((pytest.UsageError, SettingsError, AssertionError)):
        by_pytest(["--mtp", *words], pytester)


@pytest.mark.parametrize(
    "words", [["sing"], ["profile", "lost"], ["serve", "--prt", "1"], ["runpod", "up", "--limit", "1", "--", "--prt"]]
)
def test_what_our_commands_would_refuse_is_seen(words: list[str], pytester: pytest.Pytester) -> None:
    with pytest.raises(SystemExit):
        by_ours(words, pytester)


# Run

MINE = 'extends = "phantom"\nname = "mine"\ndescription = "Ours."\n'
FLEET = 'profiles = ["phantom"]\n[machines.desk]\nkind = "cpu"\n'


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the pages' file names stand for, and a cache of its own."""
    (tmp_path / "mine.toml").write_text(MINE)
    (tmp_path / "fleet.toml").write_text(FLEET)
    for day, speedup in (("monday", 1.5), ("tuesday", 1.51)):
        write_json(tmp_path / f"{day}.json", run_report({"code": (speedup, speedup + 0.01, speedup)}))
    at = datetime(2026, 12, 2, 3, 15, tzinfo=UTC)
    History(tmp_path / "history", tmp_path / "cache").add(run_report({"code": (1.5, 1.51, 1.5)}, at=at.isoformat()))
    imported = ROOT / "tests" / "core" / "data" / "imported"
    for there, here in (("mtp_bench_off", "off"), ("mtp_bench_on", "on")):
        shutil.copy(imported / f"{there}.json", tmp_path / f"{here}.json")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize("command", [one for one in TYPED if runs(one)], ids=str)
@pytest.mark.usefixtures("ground")
def test_a_command_runs(command: Typed, capsys: pytest.CaptureFixture[str]) -> None:
    found = row(RUN, command)
    assert found is not None
    assert main(list(command.words[1:])) in RUN[found]
    told = capsys.readouterr()
    assert told.out
    assert "Traceback" not in told.err


# In the text


def parsers(command: Command) -> Iterator[argparse.ArgumentParser]:
    """The parser of one of our commands, and those of its words."""
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.values()


def told_options(command: str) -> set[str]:
    return {name for parser in parsers(COMMANDS[command]) for one in parser._actions for name in one.option_strings}


def mentioned() -> list[tuple[str, list[str]]]:
    """Our commands in running text and tables, with the page."""
    spans = [(page.name, text.split()) for page in PAGES for text in inline(page)]
    return [(page, words) for page, words in spans if words[:1] == ["pytest-mtp"] and len(words) > 1]


def test_commands_in_the_text_are_there_with_their_options() -> None:
    wrong = []
    for page, (_, name, *rest) in mentioned():
        own = rest[: rest.index("--")] if "--" in rest else rest
        known = name in COMMANDS or name in {"COMMAND", "..."}
        options = {one.partition("=")[0] for one in own if one.startswith("--")}
        if not known or (name in COMMANDS and name != "gate" and options - told_options(name)):
            wrong.append(f"{page}: {name} {' '.join(rest)}")
    assert wrong == []
    assert len(mentioned()) > len(COMMANDS)


def test_options_of_pytest_in_the_text_are_there() -> None:
    known = {option.flag for option in OPTIONS} | {"--mtp", "--mtp-gpu", "--mtp-x-y"}
    found = {(page.name, one) for page in PAGES for text in inline(page) for one in re.findall(r"--mtp[\w-]*", text)}
    assert {(page, one) for page, one in found if one.rstrip("-") not in known and one != "--mtp-"} == set()


def test_every_command_of_ours_has_a_row() -> None:
    rows = re.findall(r"^\| `([a-z]+)[` ]", (ROOT / "docs" / "commands.md").read_text(), re.MULTILINE)
    assert set(rows) == set(COMMANDS)
