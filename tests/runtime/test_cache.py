"""Entries are whole or absent, also with several processes."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_mtp.errors import BuildError, CacheError
from pytest_mtp.runtime.cache import Cache, default_root

# Begins to make the entry, says so, and goes on when its input ends.
OTHER_PROCESS = """
import sys
from pathlib import Path
from pytest_mtp.runtime.cache import Cache

def make(folder):
    print("making", flush=True)
    sys.stdin.read()
    (folder / "by").write_text("other")

Cache(Path(sys.argv[1])).entry("thing", {"a": 1}, make)
"""


def put(text: str, made: list[str]) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        made.append(text)
        (folder / "text").write_text(text)

    return make


def test_an_entry_is_made_once(tmp_path: Path) -> None:
    made: list[str] = []
    first = Cache(tmp_path).entry("thing", {"a": 1, "b": 2}, put("one", made))
    second = Cache(tmp_path).entry("thing", {"b": 2, "a": 1}, put("two", made))
    assert (first, made) == (second, ["one"])
    assert (first / "text").read_text() == "one"


def test_another_recipe_or_kind_is_another_entry(tmp_path: Path) -> None:
    cache, made = Cache(tmp_path), []  # type: tuple[Cache, list[str]]
    folders = {cache.entry(kind, {"a": value}, put("", made)) for kind in ("x", "y") for value in (1, "1", None)}
    assert len(folders) == len(made) == 6


def test_the_name_is_for_people_and_safe_as_a_folder(tmp_path: Path) -> None:
    folder = Cache(tmp_path).entry("thing", {"name": "../pull/1/head @ abc"}, lambda _: None)
    assert folder.parent == tmp_path / "thing"
    assert folder.name.startswith("pull-1-head-abc-")


def test_the_stamp_is_the_recipe(tmp_path: Path) -> None:
    folder = Cache(tmp_path).entry("thing", {"a": [1, {"b": None}]}, lambda _: None)
    assert json.loads((folder / ".mtp-entry.json").read_text()) == {"a": [1, {"b": None}]}


def test_lookup_finds_only_what_was_finished(tmp_path: Path) -> None:
    cache = Cache(tmp_path)

    def make(folder: Path) -> None:
        assert folder.is_dir()
        assert cache.lookup("thing", {"a": 1}) is None

    folder = cache.entry("thing", {"a": 1}, make)
    assert cache.lookup("thing", {"a": 1}) == folder


def test_a_folder_that_nobody_may_look_into_is_named(tmp_path: Path) -> None:
    with pytest.raises(CacheError, match=r"cannot be made: .*File name too long"):
        Cache(tmp_path / ("x" * 300)).lookup("thing", {"a": 1})


def test_to_find_an_entry_is_to_use_it(tmp_path: Path) -> None:
    folder = Cache(tmp_path).entry("thing", {"a": 1}, lambda _: None)
    stamp = folder / ".mtp-entry.json"
    os.utime(stamp, (0, 0))
    Cache(tmp_path).lookup("thing", {"a": 1})
    assert stamp.stat().st_mtime > 0
    assert json.loads(stamp.read_text()) == {"a": 1}


def test_an_attempt_tells_whether_somebody_works_on_the_entry(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    folder = cache.entry("thing", {"a": 1}, lambda _: None)
    with cache.attempt(folder) as first, cache.attempt(folder) as second:
        assert (first, second) == (True, False)
    with cache.attempt(folder) as again:
        assert again


def test_what_a_failed_make_left_can_be_read_and_is_then_replaced(tmp_path: Path) -> None:
    cache = Cache(tmp_path)

    def fail(folder: Path) -> None:
        (folder / "log").write_text("why")
        raise BuildError("no")

    with pytest.raises(BuildError, match=r"^no$"):
        cache.entry("thing", {"a": 1}, fail)
    assert cache.lookup("thing", {"a": 1}) is None
    assert [path.read_text() for path in tmp_path.glob("thing/*/log")] == ["why"]
    folder = cache.entry("thing", {"a": 1}, put("now", []))
    assert sorted(path.name for path in folder.iterdir()) == [".mtp-entry.json", "text"]


def test_an_entry_without_stamp_is_made_anew(tmp_path: Path) -> None:
    folder = Cache(tmp_path).entry("thing", {"a": 1}, put("old", []))
    (folder / ".mtp-entry.json").unlink()
    assert (Cache(tmp_path).entry("thing", {"a": 1}, put("new", [])) / "text").read_text() == "new"


def test_a_disk_that_refuses_is_a_cache_error_with_a_mend(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CacheError, match=r"cannot be made.*--mtp-cache-dir"):
        Cache(tmp_path / "file" / "cache").entry("thing", {"a": 1}, lambda _: None)


def test_waiting_for_another_process_is_said_once_and_its_work_is_used(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OTHER_PROCESS, str(tmp_path)]
    said: list[str] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdout.readline()
        let_go = other.stdin.close

        def hear(text: str) -> None:
            said.append(text)
            let_go()

        folder = Cache(tmp_path).entry("thing", {"a": 1}, put("ours", []), hear)
    assert len(said) == 1
    assert "waiting for another process" in said[0]
    assert (folder / "by").read_text() == "other"


def test_the_default_is_the_users_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_root() == tmp_path / "pytest-mtp"
