"""One measurement at a time per device, also between two pytest runs."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_mtp.errors import CacheError
from pytest_mtp.runtime.filesystem import network_file_system
from pytest_mtp.runtime.progress import Progress, note

_USUAL = "/tmp"


@contextmanager
def measuring(device: str, progress: Progress) -> Iterator[None]:
    """Hold the lock of ``device`` (``cpu`` or a card's UUID); waiting for another run is said.

    The lock lies in a local temporary folder: on network file systems flock succeeds for everyone, or never answers.
    The kernel takes it back from whoever dies.
    """
    from filelock import FileLock, Timeout

    folder = _local_folder() / f"pytest-mtp-{os.getuid()}"
    lock = FileLock(folder / f"{device}.lock")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            progress(note(f"another run measures on {device}; waiting for it to end"))
            lock.acquire()
    except OSError as error:
        raise CacheError(
            f"The lock {lock.lock_file} cannot be taken: {error}. Free it, or set TMPDIR to another local folder."
        ) from error
    try:
        yield
    finally:
        lock.release()


def _local_folder() -> Path:
    """The same for all runs: ``tempfile`` goes elsewhere while a disk is full, where another run would not be met."""
    named = (Path(one) for one in (os.environ.get("TMPDIR"), _USUAL) if one)
    for folder in (*named, Path(tempfile.gettempdir())):
        if folder.is_dir() and network_file_system(folder) is None:
            return folder
    raise CacheError("No temporary folder of this machine is there for the lock of the device: set TMPDIR to one.")
