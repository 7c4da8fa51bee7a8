"""Entries of a real cache: listed, taken out, and left to whoever uses them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_mtp.core.upkeep import Entry, Removal, newest_first
from pytest_mtp.errors import CacheError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.upkeep import contents, entries, folder_of, prune, recipe_of

WAITS = "import sys; print('up', flush=True); sys.stdin.read()"


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def put(cache: Cache, kind: str, name: str, used_s: float = 1000.0, **recipe: object) -> Entry:
    folder = cache.entry(kind, {"name": name, **recipe}, lambda to: write(to / "file", "12345"))
    os.utime(folder / ".mtp-entry.json", (used_s, used_s))
    return next(one for one in entries(cache) if one.name == folder.name)


def write(path: Path, text: str) -> None:
    path.write_text(text)


def fail(cache: Cache, kind: str, name: str) -> Path:
    """Leave what a make leaves that failed."""

    def make(folder: Path) -> None:
        write(folder / "log", "why")
        raise CacheError("no")

    with pytest.raises(CacheError, match="no"):
        cache.entry(kind, {"name": name}, make)
    return next(cache.root.glob(f"{kind}/{name}-*/log")).parent


def names(found: tuple[Entry, ...]) -> list[str]:
    return [one.name.rpartition("-")[0] for one in newest_first(found)]


def refusals(results: list[Removal]) -> list[str | None]:
    return [one.refusal for one in results]


def test_a_cache_that_is_not_there_holds_nothing(cache: Cache) -> None:
    assert entries(cache) == ()
    assert not cache.root.exists()


def test_entries_are_told_with_their_size_and_last_use(cache: Cache) -> None:
    put(cache, "build", "old", 1000.0)
    put(cache, "build", "new", 2000.0)
    put(cache, "source", "tree", mirror="llama-0123456789abcdef")
    fail(cache, "build", "half")
    found = newest_first(entries(cache))
    assert [(one.kind, one.used_s, one.mirror) for one in found] == [
        ("build", 2000.0, None),
        ("build", 1000.0, None),
        ("build", None, None),
        ("source", 1000.0, "llama-0123456789abcdef"),
    ]
    assert names(found) == ["new", "old", "half", "tree"]
    assert found[2].size_bytes == len("why")
    assert found[0].size_bytes == sum(one.stat().st_size for one in folder_of(cache, found[0]).iterdir())


def test_the_contents_are_told_in_words_whatever_the_folder_is(cache: Cache, tmp_path: Path) -> None:
    assert contents(cache) == "empty"
    size = sum(put(cache, kind, name).size_bytes for kind, name in (("build", "a"), ("build", "b"), ("source", "c")))
    assert contents(cache) == f"{size} B (build 2, source 1)"
    write(tmp_path / "file", "")
    assert "cannot be read" in contents(Cache(tmp_path / "file"))


def test_only_what_we_made_is_an_entry(cache: Cache) -> None:
    kept = cache.root / "photos" / "2019"
    kept.mkdir(parents=True)
    (cache.root / "photos" / "holiday-0123456789abcdef").mkdir()
    (cache.root / "models").mkdir()
    write(cache.root / "models" / "pins.json", "{}")
    own = put(cache, "build", "own")
    (cache.root / "build" / "link-0123456789abcdef").symlink_to(kept, target_is_directory=True)
    assert entries(cache) == (own,)


def test_a_cache_that_is_a_file_is_named(tmp_path: Path) -> None:
    write(tmp_path / "file", "")
    with pytest.raises(CacheError, match=r"file cannot be read: Not a directory\. Name another"):
        entries(Cache(tmp_path / "file"))


def test_entries_and_leftovers_go_whole(cache: Cache) -> None:
    put(cache, "build", "old")
    leftover = fail(cache, "build", "half")
    assert refusals(list(prune(cache, entries(cache)))) == [None, None]
    assert not leftover.exists()
    assert entries(cache) == ()


def test_what_another_process_removed_meanwhile_is_told_and_hides_nothing(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, _ = put(cache, "build", "gone"), put(cache, "build", "stays")

    def removed_between(folder: Path) -> int:
        if folder == folder_of(cache, gone):
            shutil.rmtree(folder)
        return 0

    monkeypatch.setattr("pytest_mtp.runtime.upkeep._size", removed_between)
    assert names(entries(cache)) == ["stays"]
    assert refusals(list(prune(cache, [gone]))) == ["another process removed it"]


def test_a_rehearsal_removes_nothing(cache: Cache) -> None:
    put(cache, "build", "old")
    before = entries(cache)
    assert refusals(list(prune(cache, before, dry_run=True))) == [None]
    assert entries(cache) == before


@pytest.mark.parametrize("dry_run", [False, True])
def test_what_another_process_works_on_stays(cache: Cache, *, dry_run: bool) -> None:
    entry = put(cache, "build", "busy")
    with cache.guard(folder_of(cache, entry)):
        assert refusals(list(prune(cache, [entry], dry_run=dry_run))) == ["another process works on it"]
    assert entries(cache) == (entry,)


def test_what_another_process_runs_with_stays(cache: Cache) -> None:
    used, other = put(cache, "phantom", "used"), put(cache, "phantom", "other")
    command = [sys.executable, "-c", WAITS, f"--model={folder_of(cache, used)}/file"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"up\n"
        used_refusal, other_refusal = refusals(list(prune(cache, [used, other])))
        server.communicate()
    assert str(used_refusal).endswith(f"({server.pid}) uses it")
    assert other_refusal is None


def test_a_source_stays_while_a_build_compiles_it(cache: Cache) -> None:
    source = put(cache, "source", "b7")
    building = fail(cache, "build", "b7")
    (building / "src").symlink_to(folder_of(cache, source), target_is_directory=True)
    with cache.guard(building):
        (refusal,) = refusals(list(prune(cache, [source])))
    assert refusal == f"{building.name} is being built from it"
    assert refusals(list(prune(cache, [source]))) == [None]


def test_a_mirror_stays_with_a_worktree_of_it(cache: Cache) -> None:
    mirror = put(cache, "mirror", "llama.cpp")
    tree = put(cache, "source", "abc", mirror=mirror.name)
    with cache.guard(folder_of(cache, tree)):
        assert refusals(list(prune(cache, [tree, mirror]))) == ["another process works on it", "a worktree of it stays"]
    assert refusals(list(prune(cache, [tree, mirror]))) == [None, None]


def test_what_the_disk_refuses_to_remove_stays_with_the_reason(cache: Cache) -> None:
    entry = put(cache, "build", "old")
    lock = folder_of(cache, entry).with_name(f"{entry.name}.lock")
    lock.unlink()
    lock.mkdir()
    assert refusals(list(prune(cache, [entry]))) == ["Is a directory"]


def test_a_stamp_that_holds_no_recipe_is_refused(cache: Cache) -> None:
    folder = folder_of(cache, put(cache, "build", "old"))
    write(folder / ".mtp-entry.json", "[]")
    with pytest.raises(ValueError, match="no object but list"):
        recipe_of(folder)
    assert len(entries(cache)) == 1
