"""The cache as a person sees it: in 80 columns, without a traceback, and with a mend."""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_mtp.commands import cache as command_module
from pytest_mtp.errors import CacheError, MtpError, SettingsError
from pytest_mtp.runtime.cache import Cache

Command = Callable[..., tuple[int, list[str]]]

DAY_S = 86400.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def command(root: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run the command with these words on the folder: its status and its lines."""

    def run(*words: str) -> tuple[int, list[str]]:
        parser = argparse.ArgumentParser()
        command_module.add_arguments(parser)
        status = command_module.run(parser.parse_args([*words, "--cache-dir", str(root)]))
        return status, capsys.readouterr().out.splitlines()

    return run


def put(root: Path, kind: str, name: str, days_ago: float = 0.0) -> Path:
    def make(folder: Path) -> None:
        (folder / "file").write_bytes(b"x" * 2_000_000)

    folder = Cache(root).entry(kind, {"name": name}, make)
    used_s = time.time() - days_ago * DAY_S
    os.utime(folder / ".mtp-entry.json", (used_s, used_s))
    return folder


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("list",), "holds nothing."),
        (("prune", "--keep", "0"), "Removed 0 entries, 0 B."),
        (("verify",), "Nothing is wrong in"),
    ],
)
def test_a_cache_that_is_not_there_is_no_error(words: tuple[str, ...], line: str, command: Command, root: Path) -> None:
    status, (said,) = command(*words)
    assert status == 0
    assert line in said
    assert not root.exists()


def test_the_list_fits_80_columns_and_tells_apart_what_it_cuts(command: Command, root: Path) -> None:
    folder = put(root, "build", "a-branch-with-a-very-long-name-that-nobody-would-type-twice")
    os.utime(folder / ".mtp-entry.json", (0, 0))
    os.utime(folder, (DAY_S, DAY_S))
    put(root, "phantom", "small")
    status, (header, build, phantom, total) = command("list")
    assert status == 0
    assert header.split() == ["kind", "name", "size", "made", "last", "used"]
    assert build.split()[1].endswith(f"..{folder.name[-17:]}")
    assert build.endswith(" 2.00 MB 1970-01-02 1970-01-01")
    assert phantom.startswith("phantom small-")
    assert max(map(len, (header, build, phantom))) <= 80
    assert total == f"2 entries in {root}: 4.00 MB"


def test_a_leftover_is_told_as_unfinished(command: Command, root: Path) -> None:
    (put(root, "build", "half") / ".mtp-entry.json").unlink()
    assert command("list")[1][1].endswith(" unfinished")


def test_the_last_used_of_each_kind_stay(command: Command, root: Path) -> None:
    kept = [put(root, "build", "new", 1), put(root, "source", "only", 90)]
    old, leftover = put(root, "build", "old", 9), put(root, "build", "half")
    (leftover / ".mtp-entry.json").unlink()
    rehearsed = command("prune", "--keep", "1", "--dry-run")
    assert rehearsed[1][-1] == "Would remove 2 entries, 4.00 MB."
    assert leftover.exists()
    assert command("prune", "--keep", "1") == (
        0,
        [
            f"removed build/{old.name} (2.00 MB)",
            f"removed build/{leftover.name} (2.00 MB)",
            "Removed 2 entries, 4.00 MB.",
        ],
    )
    assert [one.exists() for one in (*kept, old, leftover)] == [True, True, False, False]


def test_what_was_used_within_the_days_stays_and_so_do_other_kinds(command: Command, root: Path) -> None:
    new, old, other = put(root, "build", "new", 6), put(root, "build", "old", 8), put(root, "source", "other", 8)
    command("prune", "--older-than", "7", "--kind", "build")
    assert [one.exists() for one in (new, old, other)] == [True, False, True]


def test_what_is_in_use_is_said(command: Command, root: Path) -> None:
    busy = put(root, "build", "busy")
    with Cache(root).guard(busy):
        status, lines = command("prune", "--keep", "0")
    assert (status, lines) == (
        0,
        [
            f"build/{busy.name} stays: another process works on it",
            "Removed 0 entries, 0 B; 1 in use or not removable.",
        ],
    )


def test_a_broken_entry_is_told_with_its_mend_and_status_1(command: Command, root: Path) -> None:
    folder = put(root, "ui", "b7")
    (folder / ".mtp-entry.json").write_text("{}")
    status, (said,) = command("verify")
    assert status == 1
    assert said.startswith(f"ui/{folder.name}: its stamp is of another entry (")
    assert said.endswith(f"). Remove the folder {folder}; it is made anew when needed.")


@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        (("prune", "--keep", "-1"), SettingsError, "--keep is -1; it is 0 or more"),
        (("prune", "--older-than", "nan"), SettingsError, "--older-than is nan"),
        (("prune", "--kind", "builds"), SettingsError, "no entries of the kind 'builds'; it has build"),
    ],
)
def test_words_that_mean_nothing_are_refused(
    words: tuple[str, ...], error: type[MtpError], text: str, command: Command, root: Path
) -> None:
    folder = put(root, "build", "b7")
    with pytest.raises(error, match=text):
        command(*words)
    assert folder.exists()


@pytest.mark.parametrize("word", ["list", "prune", "verify"])
def test_a_folder_that_cannot_be_read_is_a_sentence(word: str, command: Command, root: Path) -> None:
    root.touch()
    with pytest.raises(CacheError, match="cannot be read: Not a directory"):
        command(word)
