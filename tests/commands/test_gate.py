"""``pytest-mtp gate``: in folders whose own tests, ini files and plugins are none of its business."""

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_mtp.cli import main
from pytest_mtp.commands import gate
from tests.fakes.gguf_file import small_model
from tests.plugin.gates import fake_profile, fake_server, without_further_suites

SCRIPT = Path(sysconfig.get_path("scripts")) / "pytest-mtp"
_CMAKE = """
cmake_minimum_required(VERSION 3.18)
project(quick NONE)
add_custom_target(llama-server COMMAND sh -c "mkdir -p bin && cp '{server}' bin/llama-server" VERBATIM)
"""
_STRANGE_INI = "[pytest]\naddopts = -p no:mtp --nonsense\nrequired_plugins = pytest-of-nobody\ntestpaths = tests\n"

Gate = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def fork(tmp_path: Path) -> Path:
    """A llama.cpp with tests of its own that nobody else can run; its build is a copy of the fake server."""
    tree = tmp_path / "my fork"
    for folder in ("tools/server", "include", "tests", "build/bin"):
        (tree / folder).mkdir(parents=True)
    (tree / "include" / "llama.h").touch()
    fake_server(tmp_path / "llama-server", "honest")
    (tree / "CMakeLists.txt").write_text(_CMAKE.format(server=tmp_path / "llama-server"))
    (tree / "pytest.ini").write_text(_STRANGE_INI)
    for place in ("conftest.py", "tests/conftest.py", "pytest.py", "build/bin/conftest.py"):
        (tree / place).write_text("raise SystemExit('a file of strangers was imported')\n")
    return tree


@pytest.fixture
def typed(tmp_path: Path, home: Path) -> Gate:
    """Run the installed program in a folder: the gate's own suites, a profile of two classes, a small model."""
    (tmp_path / "fake.toml").write_text(fake_profile(a=1.0, b=1.0))
    (tmp_path / "model.gguf").write_bytes(small_model())
    fixed = (f"--mtp-profile={tmp_path / 'fake.toml'}", f"--mtp-model={tmp_path / 'model.gguf'}")
    environment = {one: value for one, value in os.environ.items() if not one.startswith(("PYTEST_", "XDG_"))}

    def run(folder: Path, *more: str, **changed: str) -> subprocess.CompletedProcess[str]:
        words = [str(SCRIPT), "gate", *fixed, *without_further_suites(), f"--mtp-cache-dir={tmp_path / 'cache'}", *more]
        told = {**environment, "HOME": str(home), **changed}
        return subprocess.run(words, cwd=folder, env=told, capture_output=True, text=True, check=False)

    return run


def files(folder: Path) -> set[str]:
    return {str(one.relative_to(folder)) for one in folder.rglob("*")}


def test_a_strangers_checkout_is_measured_and_left_as_it_was(fork: Path, typed: Gate, home: Path) -> None:
    before = files(fork)
    done = typed(fork / "build" / "bin", "--mtp-update-baselines=new", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout.splitlines()[0]
    record = home / ".local" / "share" / "pytest-mtp" / "baselines"
    assert said.startswith(f"pytest-mtp gate: the llama.cpp in {fork}; profile ")
    assert said.endswith(f"baselines in {record}")
    assert "profile fake, my fork, " in done.stdout  # the tree was built, not the profile's bin:nowhere
    assert files(fork) == before
    assert [one.name for one in record.glob("*/*.json")] == ["fake.json"]

    again = typed(fork, "-k", "test_speedup")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "(baseline)" in again.stdout
    assert files(fork) == before


def test_paths_that_are_typed_are_of_the_folder_one_stands_in(fork: Path, typed: Gate) -> None:
    done = typed(fork / "build", "--mtp-out=out", "--mtp-json", "r.json", "-k", "test_speedup")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((fork / "build" / "r.json").read_text())["profile"] == "fake"
    assert (fork / "build" / "out" / "summary.md").is_file()


def test_a_suite_of_ones_own_is_measured_beside_those_that_ship(fork: Path, typed: Gate) -> None:
    mine = fork / "mtp"
    mine.mkdir()
    (mine / "conftest.py").write_text("import pytest\n\n@pytest.fixture\ndef least(): return 9.0\n")
    # Called as a shipped one is.
    (mine / "test_speedup.py").write_text("def test_mine(mtp_result, least):\n    assert mtp_result.speedup >= least\n")
    (fork / "conftest.py").unlink()
    done = typed(fork, "mtp", "-k", "test_speedup or test_mine")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 failed, 2 passed" in done.stdout


def test_plugins_that_must_be_named_are_named(fork: Path, typed: Gate) -> None:
    done = typed(fork, "-k", "test_speedup", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_pytest_refuses_ends_as_pytest_ends(fork: Path, typed: Gate) -> None:
    for words, why in (
        (("--mtp-set=server.ctxx=1",), "server has no 'ctxx'"),
        (("--mtp-source=",), "--mtp-source was given an empty value"),
        (("--mtp-tier", "none"), "--mtp-tier: 'none' is none of"),
        (("--mtp-source",), "expected one argument"),
        (("--no-such-option",), "unrecognized arguments: --no-such-option"),
    ):
        done = typed(fork, "--co", *words)
        assert (done.returncode, why in done.stderr) == (4, True), done.stdout + done.stderr
        assert "Traceback" not in done.stderr


def test_conftest_files_are_shut_out_also_where_the_suites_lie_in_the_checkout(
    fork: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried = fork / ".venv" / "suites"
    monkeypatch.setattr(gate, "suites", lambda: carried)
    assert f"--confcutdir={carried}" in gate._apart(fork)
    assert f"--confcutdir={fork / 'build'}" in gate._apart(fork / "build")


@pytest.fixture
def became(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The arguments that pytest would get, in the place of pytest."""
    told: list[str] = []
    monkeypatch.setattr(os, "execv", lambda _path, words: told.extend(words))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    return told


def said_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    main(["gate", *arguments])
    return capsys.readouterr().out


def test_all_arguments_go_on_in_their_order(became: list[str]) -> None:
    words = ["-q", "-k", "a or b", "--mtp-flag-set=n3", "here", "-p", "no:x", "--version", "--lf", "-x"]
    main(["gate", *words])
    assert became[-len(words) :] == words
    assert became[:4] == [sys.executable, "-P", "-m", "pytest"]


@pytest.mark.parametrize(
    ("given", "added", "said"),
    [
        ([], {"--mtp", "--mtp-source=dir:{fork}"}, "the llama.cpp in {fork}; profile phantom,"),
        (["--mtp"], {"--mtp-source=dir:{fork}"}, "the llama.cpp in {fork}; profile phantom,"),
        (["--mtp-gpu"], {"--mtp-source=dir:{fork}"}, "the llama.cpp in {fork}; profile rtx3090-qwen3.6-27b,"),
        (["--mtp-source", "pr:7"], {"--mtp"}, "pr:7, as --mtp-source says; profile phantom,"),
        (["--mtp-set=source.spec=pr:7"], {"--mtp"}, "pr:7, as --mtp-set says; profile phantom,"),
        (["--mtp-profile=vllm-qwen3.5-9b", "--mtp-gpu"], set(), "vLLM, as the profile says; profile vllm-qwen3.5-9b,"),
        (["--mtp-endpoint", "plain=http://localhost:1"], {"--mtp"}, "servers that run already; profile running-"),
    ],
)
def test_what_was_decided_is_not_decided_again(  # noqa: PLR0913, PLR0917 - a row, and what it is held against
    given: list[str],
    added: set[str],
    said: str,
    fork: Path,
    became: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(fork)
    assert said_of([*given, "--mtp-baselines=b"], capsys).startswith(f"pytest-mtp gate: {said.format(fork=fork)}")
    own = became[: len(became) - len(given) - 1]
    ours = {one for one in own if one.partition("=")[0] in {"--mtp", "--mtp-gpu", "--mtp-source", "--mtp-baselines"}}
    assert ours == {one.format(fork=fork) for one in added}


def test_outside_of_a_llama_cpp_the_profile_names_the_source(
    tmp_path: Path, became: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "CMakeLists.txt").touch()
    (tmp_path / "tools" / "server").mkdir(parents=True)  # and no include/llama.h
    monkeypatch.chdir(tmp_path)
    said = said_of([], capsys)
    assert said.startswith("pytest-mtp gate: no checkout of llama.cpp here, so sdist:11434.0.0, as the profile says;")
    assert not [one for one in became if one.startswith("--mtp-source")]


def test_options_of_the_environment_count(
    fork: Path, became: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(fork)
    monkeypatch.setenv("PYTEST_ADDOPTS", "--mtp-gpu --mtp-source pr:7")
    assert "pr:7, as --mtp-source says" in said_of([], capsys)
    assert "--mtp" not in became


def test_baselines_that_the_repository_keeps_are_taken(
    fork: Path, monkeypatch: pytest.MonkeyPatch, became: list[str]
) -> None:
    (fork / "baselines" / "machine").mkdir(parents=True)
    monkeypatch.chdir(fork / "build")
    main(["gate"])
    assert f"--mtp-baselines={fork / 'baselines'}" not in became  # a folder of that name, and no record of ours
    became.clear()
    (fork / "baselines" / "machine" / "phantom.json").touch()
    main(["gate"])
    assert f"--mtp-baselines={fork / 'baselines'}" in became


def test_the_name_of_a_folder_moves_no_cursor(
    fork: Path, became: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = fork.rename(fork.with_name("a\x1b[2J"))
    monkeypatch.chdir(odd)
    said = said_of([], capsys)
    assert "\x1b" not in said
    assert f"--mtp-source=dir:{odd}" in became
