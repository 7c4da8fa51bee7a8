"""What a run of the fleet has come to so far, on disk, so that a controller that was killed goes on where it was."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pytest_mtp.core.fleet.cell import Cell, CellResult, State
from pytest_mtp.core.fleet.manifest import Manifest
from pytest_mtp.errors import InputError, SettingsError
from pytest_mtp.runtime.fleet.cell_run import now
from pytest_mtp.runtime.fleet.stored import load
from pytest_mtp.runtime.store import write_json

R = TypeVar("R", "Heard", CellResult)

_MEND = "Restore it, or remove it to have its cell run again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """The last that was heard of a cell."""

    cell: str
    state: State
    worker: str
    at: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """A folder; ID is a cell's.

    ::

        FOLDER/manifest.json      what is run
        FOLDER/heard/ID.json      the last change of that cell
        FOLDER/results/ID.json    its result, whole; written before anything else is done with it
        FOLDER/ledger.lock        held while a controller runs
    """

    folder: Path

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep another controller out; SettingsError where one is in it."""
        from filelock import FileLock, Timeout

        lock = FileLock(self.folder / "ledger.lock")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=0)
        except Timeout as error:
            raise SettingsError(f"Another controller runs {self.folder}: wait for it, or give --ledger DIR.") from error
        except OSError as error:
            raise InputError(f"{self.folder} cannot be written: {error}. Give another folder with --ledger.") from error
        try:
            yield
        finally:
            lock.release()

    def open(self, manifest: Manifest) -> None:
        """Put the manifest on record; SettingsError where the folder is of another one."""
        if not self._manifest.exists():
            write_json(self._manifest, manifest)
        elif self.manifest().id != manifest.id:
            raise SettingsError(f"{self.folder} is of another manifest: give another --ledger, or remove it.")

    def manifest(self) -> Manifest:
        """What is run; InputError where the folder is no ledger."""
        if not self._manifest.is_file():
            raise InputError(f"{self.folder} is no ledger: it has no manifest.json; `pytest-mtp fleet run` makes one.")
        return load(self._manifest, Manifest, "Restore it, or remove the ledger to run all of it again.")

    def heard(self, cell: Cell, state: State, worker: str) -> None:
        """Put a change on record."""
        write_json(self._heard(cell.id), Heard(cell=cell.id, state=state, worker=worker, at=now()))

    def last_heard(self, cell: Cell) -> Heard | None:
        """The last change; ``None`` where nothing was heard."""
        return _of(cell, self._heard(cell.id), Heard)

    def keep(self, result: CellResult) -> None:
        """Put a result on record, in the place of an earlier one."""
        write_json(self._result(result.cell), result)

    def result(self, cell: Cell) -> CellResult | None:
        """What came of a cell; ``None`` while nothing did."""
        return _of(cell, self._result(cell.id), CellResult)

    def finished(self, cell: Cell) -> CellResult | None:
        """Its result where it need not be run again: a cell that was lost is."""
        found = self.result(cell)
        return found if found is not None and found.state.over else None

    @property
    def _manifest(self) -> Path:
        return self.folder / "manifest.json"

    def _heard(self, cell: str) -> Path:
        return self.folder / "heard" / f"{cell}.json"

    def _result(self, cell: str) -> Path:
        return self.folder / "results" / f"{cell}.json"


def _of(cell: Cell, path: Path, kind: type[R]) -> R | None:
    """What a file says of a cell; ``None`` where there is none, InputError where it is of another cell."""
    if not path.exists():
        return None
    found = load(path, kind, _MEND)
    if found.cell != cell.id:
        raise InputError(f"{path} is of cell {found.cell!r:.40}, not of {cell.id}. {_MEND}")
    return found
