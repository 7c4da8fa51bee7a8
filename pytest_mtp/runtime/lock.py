"""One measurement at a time per device, also between two pytest runs."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_mtp.errors import CacheError
from pytest_mtp.runtime.progress import Progress


@contextmanager
def measuring(device: str, progress: Progress) -> Iterator[None]:
    """Hold the lock of ``device`` (``cpu`` or a card's UUID); waiting for another run is said.

    The lock lies in the local temporary folder: on network file systems flock succeeds for everyone.
    """
    from filelock import FileLock, Timeout

    folder = Path(tempfile.gettempdir()) / f"pytest-mtp-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise CacheError(f"The lock folder {folder} cannot be made: {error}. Set TMPDIR to a local folder.") from error
    lock = FileLock(folder / f"{device}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        progress(f"another run measures on {device}; waiting for it to end")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
