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
from pytest_mtp.runtime.deadline import within
from pytest_mtp.runtime.filesystem import network_file_system
from pytest_mtp.runtime.progress import Progress, note, silent
from pytest_mtp.runtime.seal import SEAL, damage, is_sealed, sealed_files

Recipe = Mapping[str, object]
"""JSON values by name: everything that makes an entry what it is."""

STAMP = ".mtp-entry.json"
"""The file of an entry that holds its recipe; its time of change is when the entry was last used."""

_ANSWER_S = 30.0  # for a server of files to say whether a lock is free

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
        ROOT/KIND/NAME-HASH/.mtp-seal.json    what its files were then, of entries that are measured
        ROOT/KIND/NAME-HASH/.mtp-entry.json   the recipe, written last: without it the entry is a leftover
        ROOT/KIND/NAME-HASH.lock              held while the entry is made; its existence means nothing

    HASH is over the whole recipe; NAME is the recipe's ``name``, when it has one, for people.
    An entry is removed by removing its folder. Whoever makes it otherwise changes its recipe, so that
    versions of this package do not meet in one folder.
    """

    root: Path

    def lookup(self, kind: str, recipe: Recipe) -> Path | None:
        """Return the entry's folder, or ``None`` when it was never finished; to find it is to use it.

        A stamp that lost its text is written anew: the folder's name is the hash of the same recipe.
        ``CacheError`` where nobody may look.
        """
        folder = self.place(kind, recipe)
        found = folder / STAMP
        with _disk_errors(folder):
            if not found.is_file():
                return None
        with suppress(OSError):  # a cache that cannot be written is still read
            if not _speaks_for(found, recipe):
                stamp(folder, recipe)
            os.utime(found)
        return folder

    def entry(
        self,
        kind: str,
        recipe: Recipe,
        make: Callable[[Path], None],
        progress: Progress = silent,
        *,
        sealed: bool = False,
    ) -> Path:
        """Return the entry's folder, filled by ``make`` when there is none.

        ``sealed`` is for what is measured: every byte is compared with what was made, on every call, and
        a damaged entry is said and made anew.
        What ``make`` raises passes through and leaves a folder without stamp, so that a log in it
        can be read; the next call removes it. ``CacheError`` when the disk refuses.
        """
        folder = self.place(kind, recipe)
        if self.lookup(kind, recipe) is not None and (not sealed or _flaw(folder) is None):
            return folder
        with self.guard(folder, progress):
            found = self.lookup(kind, recipe) is not None
            flaw = _flaw(folder) if found and sealed else None
            if not found or flaw is not None:
                if flaw is not None:
                    progress(note(f"{folder.name} in the cache is damaged ({flaw}), so it is made anew"))
                with _disk_errors(folder):
                    _make_anew(folder, make)
                    if sealed:
                        _seal(folder)
                    stamp(folder, recipe)
        return folder

    @contextmanager
    def guard(self, folder: Path, progress: Progress = silent) -> Iterator[None]:
        """Hold the lock beside ``folder``; say once when another process has it."""
        with _disk_errors(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            lock = filelock.FileLock(f"{folder}.lock", thread_local=False)
            try:
                _try(lock, folder.parent, progress)
            except filelock.Timeout:
                progress(note(f"waiting for another process that works on {folder.name}"))
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

    def place(self, kind: str, recipe: Recipe) -> Path:
        """Return where the entry's folder is, or would be."""
        slug = re.sub(r"[^A-Za-z0-9._]+", "-", str(recipe.get("name", ""))).strip("-.")[:60]
        name = recipe_hash(recipe)
        return self.root.expanduser().absolute() / kind / (f"{slug}-{name}" if slug else name)


def _try(lock: filelock.FileLock, folder: Path, progress: Progress) -> None:
    """Take a lock that nobody has, else ``Timeout``; a network file system is said, and bounded in its answer."""
    kind = network_file_system(folder)
    if kind is None:
        lock.acquire(timeout=0)
        return
    said = f"the cache {folder} is on a network file system ({kind}), whose locks may keep nobody out"
    progress(note(f"{said}; name a local folder with --mtp-cache-dir"))
    try:
        within(_ANSWER_S, lambda: lock.acquire(timeout=0))
    except filelock.Timeout:
        raise
    except OSError as error:
        raise CacheError(
            f"No lock is to be had for the cache {folder} on its network file system ({kind}): {error}. "
            "Name a local folder with --mtp-cache-dir."
        ) from error


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


def _flaw(folder: Path) -> str | None:
    """What is wrong with the files of a finished entry; one without a seal is taken as it is, and sealed."""
    with _disk_errors(folder):
        if is_sealed(folder):
            return damage(folder)
    with suppress(OSError):  # a cache that cannot be written is still read
        _seal(folder)
    return None


def _speaks_for(found: Path, recipe: Recipe) -> bool:
    """Whether a stamp holds this recipe."""
    try:
        return recipe_hash(json.loads(found.read_text(encoding="utf-8"))) == recipe_hash(recipe)
    except ValueError:
        return False


def stamp(folder: Path, recipe: Recipe) -> None:
    """Write the recipe so that a crash leaves either no stamp or a whole one."""
    _write_whole(folder, STAMP, recipe)


def _seal(folder: Path) -> None:
    """Write what its files are, in the same way."""
    _write_whole(folder, SEAL, sealed_files(folder))


def _write_whole(folder: Path, name: str, value: Mapping[str, object]) -> None:
    draft = folder / f"{name}.draft"
    with draft.open("w", encoding="utf-8") as file:
        json.dump(value, file, sort_keys=True, indent=2)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / name)
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
