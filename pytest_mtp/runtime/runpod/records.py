"""What this machine has rented: written before anything is asked for, so that whoever comes after a kill finds it."""

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_mtp.errors import InputError
from pytest_mtp.runtime.progress import Progress, note
from pytest_mtp.runtime.store import load_value, write_json

# 1 - first version
RECORD_VERSION = 1
_FILE = "pod.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One pod that was asked for, with who asked; it holds no key of the account."""

    version: int = RECORD_VERSION
    name: str
    ids: tuple[str, ...] = ()
    """None yet where it was asked for and no answer has come."""
    made_at: float
    """Seconds since 1970."""
    until: int
    """When it must be gone."""
    price_usd: float | None = None
    """Per hour, as agreed."""
    kept: bool = False
    """Whether a person keeps it, with no process that looks after it."""
    pid: int
    process_began: float
    """So that another process with the number of a dead one is not taken for it."""

    @property
    def abandoned(self) -> bool:
        """Whether the process that looked after it is gone."""
        import psutil

        if self.kept:
            return False
        try:
            return abs(psutil.Process(self.pid).create_time() - self.process_began) > 1
        except psutil.NoSuchProcess:
            return True


@dataclass(frozen=True, slots=True)
class Records:
    """A folder of the user's state.

    ::

        NAME/pod.json            the record
        NAME/key, key.pub        a pair made for this pod alone
        NAME/known_hosts         the pod's host key, as first seen
        NAME/job.sh, tunnel.log  what ran there, and what the tunnel said
    """

    folder: Path

    def place(self, name: str) -> Path:
        """The folder of one pod, readable for its owner alone."""
        place = self.folder / name
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{place} cannot be made: {error}. Set XDG_STATE_HOME to a folder that can.") from error
        return place

    def begin(self, name: str, until: int) -> Record:
        """Put on record that a pod of this name is about to be asked for."""
        import psutil

        record = Record(
            name=name,
            made_at=time.time(),
            until=until,
            pid=os.getpid(),
            process_began=psutil.Process().create_time(),
        )
        self.write(record)
        return record

    def write(self, record: Record) -> None:
        """Put it in the place of what was there, on disk when this returns."""
        write_json(self.place(record.name) / _FILE, record)

    def keep(self, record: Record) -> None:
        """Leave the pod to a person."""
        self.write(replace(record, kept=True))

    def forget(self, name: str) -> None:
        """Remove all of a pod that is gone, its key too."""
        shutil.rmtree(self.folder / name, ignore_errors=True)

    def all(self, say: Progress) -> tuple[Record, ...]:
        """What is on record, oldest first; one that cannot be read is said, with where it lies."""
        return tuple(sorted(self._read(say), key=lambda one: one.made_at))

    def _read(self, say: Progress) -> Iterator[Record]:
        for path in sorted(self.folder.glob(f"*/{_FILE}")):
            try:
                record = load_value(path, Record)
            except InputError as error:
                say(note(f"{error} Its pod is named {path.parent.name}: pytest-mtp runpod down {path.parent.name}"))
                continue
            if record.name == path.parent.name:
                yield record


def default_folder() -> Path:
    """Where records lie; ``XDG_STATE_HOME`` moves it."""
    import platformdirs

    return platformdirs.user_state_path("pytest-mtp") / "runpod"
