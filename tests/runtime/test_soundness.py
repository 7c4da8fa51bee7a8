"""Entries that are broken, each in its own way."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pytest_mtp.phantom.spec import PhantomSpec
from pytest_mtp.phantom.writer import write
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.soundness import flaws

PHANTOM = PhantomSpec(
    seed=7, layers=4, n_embd=256, n_ff=512, chain_length=64, weights="q8_0", wrong=(("miss00", 0.0), ("miss20", 0.2))
)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def server(folder: Path, says: str = "echo version: 7") -> None:
    (folder / "bin").mkdir()
    binary = folder / "bin" / "llama-server"
    binary.write_text(f"#!/bin/sh\n{says}\n")
    binary.chmod(0o755)


def mirror(folder: Path) -> None:
    (folder / "objects").mkdir()
    for name in ("HEAD", "config"):
        (folder / name).touch()


def texts(cache: Cache) -> list[str]:
    return [one.text for one in flaws(cache)]


def put(cache: Cache, kind: str, make: Callable[[Path], None], recipe: Mapping[str, object] | None = None) -> Path:
    return cache.entry(kind, recipe or {"name": "b7"}, make)


def phantom(cache: Cache) -> Path:
    return put(cache, "phantom", lambda to: write(PHANTOM, to / "phantom.gguf"), PHANTOM.recipe)


def test_whole_entries_and_leftovers_are_no_flaws(cache: Cache) -> None:
    put(cache, "build", server)
    (put(cache, "build", server, {"name": "half"}) / ".mtp-entry.json").unlink()
    phantom(cache)
    held = put(cache, "mirror", mirror)
    put(cache, "source", lambda to: (to / "llama.cpp").mkdir(), {"name": "b7", "mirror": held.name})
    assert texts(cache) == []


@pytest.mark.parametrize(
    ("stamp", "text"),
    [
        ("{", "its stamp cannot be read: Expecting property name"),
        ("[1]", "its stamp cannot be read: it holds no object but list"),
        ('{"name": "b8"}', "its stamp is of another entry ("),
    ],
)
def test_a_stamp_must_be_that_of_its_folder(stamp: str, text: str, cache: Cache) -> None:
    (put(cache, "ui", lambda _: None) / ".mtp-entry.json").write_text(stamp)
    (said,) = texts(cache)
    assert said.startswith(text)


@pytest.mark.parametrize(
    ("says", "text"), [("exit 3", "ended with status 3"), ("kill -ILL $$", "instructions that this CPU lacks")]
)
def test_a_build_must_still_run(says: str, text: str, cache: Cache) -> None:
    put(cache, "build", lambda to: server(to, says))
    (said,) = texts(cache)
    assert text in said


def test_a_build_must_have_its_server(cache: Cache) -> None:
    put(cache, "build", lambda _: None)
    (said,) = texts(cache)
    assert "bin/llama-server cannot be run: No such file" in said


def test_a_phantom_that_was_cut_off_is_told_with_its_size(cache: Cache) -> None:
    file = phantom(cache) / "phantom.gguf"
    with file.open("r+b") as opened:
        opened.truncate(1000)
    (said,) = texts(cache)
    assert said.startswith("phantom.gguf is cut off: it has 1000 bytes, its tensors alone have ")
    file.unlink()
    assert texts(cache) == ["it has no phantom.gguf"]


def test_a_phantom_of_another_writer_is_not_judged_by_our_sizes(cache: Cache) -> None:
    recipe = {**PHANTOM.recipe, "writer": 0}
    put(cache, "phantom", lambda to: (to / "phantom.gguf").touch(), recipe)
    assert texts(cache) == []


def test_a_worktree_needs_its_mirror_and_a_mirror_its_repository(cache: Cache) -> None:
    put(cache, "mirror", lambda to: (to / "HEAD").touch())
    put(cache, "source", lambda _: None, {"name": "abc", "mirror": "llama.cpp-0123456789abcdef"})
    assert sorted(texts(cache)) == [
        "it is no git repository: it has no config",
        "its history was in mirror/llama.cpp-0123456789abcdef, which is gone",
    ]
