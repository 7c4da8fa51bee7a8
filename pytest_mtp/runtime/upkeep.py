"""What lies in the cache, and how an entry is taken out of it without harm to whoever uses it."""

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pytest_mtp.core.amount import amount
from pytest_mtp.core.upkeep import MIRROR, Entry, Removal
from pytest_mtp.errors import CacheError
from pytest_mtp.runtime.cache import STAMP, Cache

# A folder that we did not make is never touched, whatever --cache-dir was pointed at.
_NAME = re.compile(r"(?:.*-)?[0-9a-f]{16}")
_SOURCE_LINK = "src"


def entries(cache: Cache) -> tuple[Entry, ...]:
    """All entries and leftovers; empty when there is no cache. ``CacheError`` when it cannot be read.

    The models' ledgers are files and no entries; what a hub's client keeps lies elsewhere.
    """
    root = _root(cache)
    try:
        folders = [folder for kind in sorted(root.iterdir()) if kind.is_dir() for folder in sorted(kind.iterdir())]
        found = (_entry(folder) for folder in folders if _ours(folder))
        return tuple(entry for entry in found if entry is not None)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise CacheError(
            f"The cache {root} cannot be read: {error.strerror}. Name another with --cache-dir."
        ) from error


def contents(cache: Cache) -> str:
    """In words, how much of what lies there, or why that cannot be seen: a fact about a machine, never an error."""
    try:
        found = entries(cache)
    except CacheError as error:
        return str(error)
    counted = Counter(one.kind for one in found)
    kinds = ", ".join(f"{kind} {number}" for kind, number in sorted(counted.items()))
    return f"{amount(sum(one.size_bytes for one in found))} ({kinds})" if found else "empty"


def folder_of(cache: Cache, entry: Entry) -> Path:
    """Where the entry lies."""
    return _root(cache) / entry.kind / entry.name


def recipe_of(folder: Path) -> dict[str, Any]:
    """The recipe in an entry's stamp; ``ValueError`` or ``OSError`` when it cannot be read."""
    recipe = json.loads((folder / STAMP).read_text(encoding="utf-8"))
    if not isinstance(recipe, dict):
        raise ValueError(f"it holds no object but {type(recipe).__name__}")
    return recipe


def prune(cache: Cache, chosen: Iterable[Entry], *, dry_run: bool = False) -> Iterator[Removal]:
    """Take entries out one by one, and tell of each what became of it; those in use stay.

    ``chosen`` names a mirror behind its worktrees, and it stays when one of them does.
    """
    users, held = _users(), set[str]()
    for entry in chosen:
        folder = folder_of(cache, entry)
        if entry.kind == MIRROR and entry.name in held:
            refusal: str | None = "a worktree of it stays"
        else:
            refusal = _user(folder, users) or _needed_by_build(cache, folder) or _remove(cache, folder, dry_run=dry_run)
        if refusal is not None and entry.mirror is not None:
            held.add(entry.mirror)
        yield Removal(entry, refusal)


def _root(cache: Cache) -> Path:
    return cache.root.expanduser().absolute()


def _ours(folder: Path) -> bool:
    """Whether it is an entry, or what a failed make left: then its lock is still beside it."""
    if folder.is_symlink() or not folder.is_dir() or _NAME.fullmatch(folder.name) is None:
        return False
    return (folder / STAMP).is_file() or folder.with_name(f"{folder.name}.lock").is_file()


def _entry(folder: Path) -> Entry | None:
    """The entry; ``None`` when another process has just removed it."""
    with suppress(FileNotFoundError):
        return _read_entry(folder)
    return None


def _read_entry(folder: Path) -> Entry:
    recipe: Mapping[str, Any] = {}
    with suppress(OSError, ValueError):
        recipe = recipe_of(folder)
    stamp = folder / STAMP
    mirror = recipe.get("mirror")
    return Entry(
        kind=folder.parent.name,
        name=folder.name,
        size_bytes=_size(folder),
        made_s=folder.stat().st_mtime,
        used_s=stamp.stat().st_mtime if stamp.is_file() else None,
        mirror=mirror if isinstance(mirror, str) else None,
    )


def _size(folder: Path) -> int:
    """Bytes of the files below; what vanishes meanwhile counts nothing."""
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                total += os.lstat(f"{place}/{name}").st_size
    return total


def _users() -> Mapping[str, str]:
    """Words of the other processes (program, arguments, folder), each with who said it."""
    import psutil

    found: dict[str, str] = {}
    for process in psutil.process_iter(["pid", "name", "exe", "cwd", "cmdline"]):
        told = process.info
        if told["pid"] == os.getpid():
            continue
        # A compiler's arguments hold folders in the middle of a word: -I/a/folder.
        words = " ".join(filter(None, (told["exe"], told["cwd"], *(told["cmdline"] or ()))))
        found[words] = f"{told['name']} ({told['pid']})"
    return found


def _user(folder: Path, users: Mapping[str, str]) -> str | None:
    name = re.compile(re.escape(str(folder)) + r"(?![^/\s:=,;])")
    return next((f"{who} uses it" for words, who in users.items() if name.search(words)), None)


def _needed_by_build(cache: Cache, folder: Path) -> str | None:
    """Whether a build under way compiles what lies in the folder; its compilers see it by another name."""
    for link in _root(cache).glob(f"*/*/{_SOURCE_LINK}"):
        if not link.is_symlink() or not link.resolve().is_relative_to(folder.resolve()):
            continue
        with suppress(OSError), cache.attempt(link.parent) as free:
            if not free:
                return f"{link.parent.name} is being built from it"
    return None


def _remove(cache: Cache, folder: Path, *, dry_run: bool) -> str | None:
    """Remove it while nobody else can make it; return why it stays. The lock's file stays, for who waits on it."""
    try:
        with cache.attempt(folder) as free:
            if not free:
                return "another process works on it"
            if not folder.exists():
                return "another process removed it"
            if not dry_run:
                # First of all: half an entry must not be taken for a whole one.
                (folder / STAMP).unlink(missing_ok=True)
                shutil.rmtree(folder)
    except OSError as error:
        return f"{error.strerror or error}"
    return None
