"""The history folder: one file per run, written once; read whole, with what cannot be read named."""

import hashlib
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pytest_mtp import __version__
from pytest_mtp.core.history import Entry, Unreadable, entries_of
from pytest_mtp.core.run_report import RunReport
from pytest_mtp.errors import InputError, MtpError
from pytest_mtp.runtime.store import MOST_BYTES, encoded, load_report, write_bytes, write_json

IMPORTED_VERSION = 1

_SUFFIX = ".json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFile:
    """Runs that other tools measured, as the folder keeps them."""

    version: int
    imported_from: str
    imported: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Loaded:
    """All that a folder holds."""

    entries: tuple[Entry, ...]
    """Oldest first."""
    unreadable: tuple[Unreadable, ...]


class History:
    """A folder of runs.

    Files are never changed, so that two writers cannot disturb each other and git merges them; what was read of each
    is kept in an index beside the cache, which is only a matter of speed.
    """

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder = folder
        name = hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()[:12]
        self._index_path = cache / "history" / f"{name}{_SUFFIX}"

    def add(self, report: RunReport) -> Path:
        """Keep a run; the same one again is the same file. InputError where the folder cannot be written."""
        return self._keep(report.created_at, report.profile, report)

    def add_imported(self, entries: Sequence[Entry], tool: str) -> Path:
        """Keep what another tool measured."""
        file = ImportedFile(version=IMPORTED_VERSION, imported_from=tool, imported=tuple(entries))
        return self._keep(min(one.at for one in entries), tool, file)

    def load(self) -> Loaded:
        """Every run of the folder; a file that is none is named, and left where it is."""
        index, fresh = self._index(), {}
        unreadable: list[Unreadable] = []
        for path in self._files():
            try:
                stamp = _stamp(path)
                kept = index.get(path.name)
                fresh[path.name] = kept if kept is not None and kept.stamp == stamp else _Indexed(stamp, _read(path))
            except MtpError as error:
                unreadable.append(Unreadable(path.name, str(error)))
        if fresh != index:
            self._write_index(fresh)
        entries = [entry for one in fresh.values() for entry in one.entries]
        return Loaded(tuple(sorted(entries, key=lambda one: (one.at, one.run))), tuple(unreadable))

    def report(self, run: str) -> RunReport:
        """The whole report of a run, by its name or the beginning of it; InputError names what there is."""
        found = [path for path in self._files() if path.stem.startswith(run)]
        exact = [path for path in found if path.stem == run]
        if len(exact or found) != 1:
            said = "no run" if not found else f"{len(found)} runs"
            raise InputError(f"{self.folder} has {said} named {run}; `pytest-mtp history list` names them.")
        return load_report((exact or found)[0])

    def prune(self, keep: int) -> tuple[Path, ...]:
        """Remove all but the newest runs of each profile; what cannot be read stays. Returns what was removed."""
        newest: dict[str, list[str]] = {}
        for entry in reversed([one for one in self.load().entries if one.imported_from is None]):
            runs = newest.setdefault(entry.profile, [])
            if entry.run not in runs:
                runs.append(entry.run)
        gone = tuple(self.folder / f"{run}{_SUFFIX}" for runs in newest.values() for run in runs[keep:])
        for path in gone:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise InputError(f"{path} cannot be removed: {error}. Mend the rights of its folder.") from error
        return gone

    def _keep(self, at: str, what: str, value: Any) -> Path:
        content = encoded(value)
        named = re.sub(r"[^A-Za-z0-9._-]+", "-", what).strip("-.")[:60]
        digest = hashlib.sha256(content).hexdigest()[:8]
        path = self.folder / f"{_compact(at)}-{named}-{digest}{_SUFFIX}"
        # Of the same name is only the same content, so that nothing can be lost by taking its place.
        write_bytes(path, content)
        return path

    def _files(self) -> list[Path]:
        try:
            return sorted(path for path in self.folder.iterdir() if path.suffix == _SUFFIX and path.name[0] != ".")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(f"{self.folder} cannot be read: {error}. Name a folder with --mtp-history.") from error

    def _index(self) -> dict[str, "_Indexed"]:
        import msgspec

        try:
            return msgspec.json.decode(self._index_path.read_bytes(), type=dict[str, _Indexed])
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return {}

    def _write_index(self, index: dict[str, "_Indexed"]) -> None:
        with suppress(InputError):  # without it the next reading is slower, and nothing else
            write_json(self._index_path, index)


@dataclass(frozen=True, slots=True)
class _Indexed:
    """What was read of a file, and which state of it that was."""

    stamp: str
    entries: tuple[Entry, ...]


def _stamp(path: Path) -> str:
    try:
        told = path.stat()
    except OSError as error:
        raise InputError(f"It cannot be read: {error}.") from error
    if not path.is_file() or told.st_size > MOST_BYTES:
        raise InputError(f"It is no file, or larger than {MOST_BYTES // 2**20} MiB, which no run is.")
    return f"{told.st_size} {told.st_mtime_ns} {__version__}"


def _read(path: Path) -> tuple[Entry, ...]:
    """The entries of one file; its name is the run's."""
    import msgspec

    try:
        raw = path.read_bytes()
        head = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        if "imported" not in head:
            return entries_of(path.stem, load_report(path))
        version = msgspec.json.decode(head["version"], type=int)
        if version > IMPORTED_VERSION:
            raise InputError(f"It has format {version}, this pytest-mtp reads up to {IMPORTED_VERSION}: update.")
        file = msgspec.json.decode(raw, type=ImportedFile)
        # Said for every entry: what passed for a run of ours would be judged, and pruned by the name that it gives.
        return tuple(replace(one, imported_from=file.imported_from) for one in file.imported)
    except KeyError as error:
        raise InputError(f"It is no run: it has no {error}. Restore it, or move it away.") from error
    except (OSError, msgspec.DecodeError, ValueError, LookupError, RuntimeError, ArithmeticError) as error:
        raise InputError(
            f"It is no run: {str(error) or type(error).__name__:.500}. Restore it, or move it away."
        ) from error


def _compact(at: str) -> str:
    """``2026-12-02T03:15:00+00:00`` as ``20261202T031500``; sorts as the times do."""
    try:
        return datetime.fromisoformat(at).strftime("%Y%m%dT%H%M%S")
    except ValueError as error:
        raise InputError(f"{at!r} is no time; write one as 2026-12-02T03:15:00+00:00.") from error
