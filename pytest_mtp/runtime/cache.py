"""Where costly things are kept: named by what made them, guarded by a lock, real only once stamped."""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import filelock
import platformdirs

from pytest_mtp.errors import CacheError
from pytest_mtp.runtime.progress import Progress, silent

Recipe = Mapping[str, object]
"""JSON values by name: everything that makes an entry what it is."""

STAMP = ".mtp-entry.json"
"""The file of an entry that holds its recipe; its time of change is when the entry was last used."""

_MEND = "Free space or give another folder with --mtp-cache-dir."


def default_root() -> Path:
    """Return the user's cache folder for this package; ``XDG_CACHE_HOME`` moves it."""
    return platformdirs.user_cache_path("pytest-mtp")


def recipe_hash(recipe: Recipe) -> str:
    """Return 16 hex digits that are equal exactly when the recipes are."""
    canonical = json.dumps(recipe, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Cache:
    """A folder of entries, shared by processes.

    ::

        ROOT/KIND/NAME-HASH/                  what ``make`` wrote
        ROOT/KIND/NAME-HASH/.mtp-entry.json   the recipe, written last: without it the entry is a leftover
        ROOT/KIND/NAME-HASH.lock              held while the entry is made; its existence means nothing

    HASH is over the whole recipe; NAME is the recipe's ``name``, when it has one, for people.
    An entry is removed by removing its folder.
    """

    root: Path

    def lookup(self, kind: str, recipe: Recipe) -> Path | None:
        """Return the entry's folder, or ``None`` when it was never finished; to find it is to use it.

        ``CacheError`` where nobody may look.
        """
        folder = self._folder(kind, recipe)
        stamp = folder / STAMP
        with _disk_errors(folder):
            if not stamp.is_file():
                return None
        with suppress(OSError):  # a cache that cannot be written is still read
            os.utime(stamp)
        return folder

    def entry(self, kind: str, recipe: Recipe, make: Callable[[Path], None], progress: Progress = silent) -> Path:
        """Return the entry's folder, filled by ``make`` when there is none.

        What ``make`` raises passes through and leaves a folder without stamp, so that a log in it
        can be read; the next call removes it. ``CacheError`` when the disk refuses.
        """
        if (found := self.lookup(kind, recipe)) is not None:
            return found
        folder = self._folder(kind, recipe)
        with self.guard(folder, progress):
            if self.lookup(kind, recipe) is None:
                with _disk_errors(folder):
                    _make_anew(folder, make)
                    _stamp(folder, recipe)
        return folder

    @contextmanager
    def guard(self, folder: Path, progress: Progress = silent) -> Iterator[None]:
        """Hold the lock beside ``folder``; say once when another process has it."""
        with _disk_errors(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            lock = filelock.FileLock(f"{folder}.lock")
            try:
                lock.acquire(timeout=0)
            except filelock.Timeout:
                progress(f"waiting for another process that works on {folder.name}")
                lock.acquire()
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def attempt(self, folder: Path) -> Iterator[bool]:
        """Hold the lock beside ``folder`` if nobody has it, and tell whether; ``OSError`` when the disk refuses."""
        lock = filelock.FileLock(f"{folder}.lock")
        with suppress(filelock.Timeout):
            lock.acquire(timeout=0)
        try:
            yield lock.is_locked
        finally:
            lock.release()

    def _folder(self, kind: str, recipe: Recipe) -> Path:
        slug = re.sub(r"[^A-Za-z0-9._]+", "-", str(recipe.get("name", ""))).strip("-.")[:60]
        name = recipe_hash(recipe)
        return self.root.expanduser().absolute() / kind / (f"{slug}-{name}" if slug else name)


@contextmanager
def _disk_errors(folder: Path) -> Iterator[None]:
    """Say what the disk refused, and how to go on."""
    try:
        yield
    except OSError as error:
        raise CacheError(f"The cache entry {folder} cannot be made: {error}. {_MEND}") from error


def _make_anew(folder: Path, make: Callable[[Path], None]) -> None:
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir()
    make(folder)


def _stamp(folder: Path, recipe: Recipe) -> None:
    """Write the recipe so that a crash leaves either no stamp or a whole one."""
    draft = folder / f"{STAMP}.draft"
    with draft.open("w", encoding="utf-8") as file:
        json.dump(recipe, file, sort_keys=True, indent=2)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / STAMP)
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
