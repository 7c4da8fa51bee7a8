"""The sha256 of a model file: computed once per path, size and time of change, again after a week."""

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pytest_mtp.errors import CacheError, ModelError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.models.ledger import Ledger
from pytest_mtp.runtime.models.meter import Meter
from pytest_mtp.runtime.progress import Progress

_CHUNK = 1 << 22
_WEEK_S = 7 * 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """What a file hashed to, and what it was then."""

    sha256: str
    size: int
    mtime_ns: int
    checked_at: float
    """Seconds of the epoch."""


@dataclass(frozen=True, slots=True)
class Digests:
    """Hashes of files, remembered in the cache; hashing a large model takes the better part of a minute."""

    cache: Cache
    now: Callable[[], float] = time.time

    def sha256(self, path: Path, progress: Progress, *, verify: bool = False) -> str:
        """The hash of a file's bytes; ``verify`` computes it even if that was done lately."""
        with reading(path):
            return self._remembered(path, progress, verify=verify)

    def _remembered(self, path: Path, progress: Progress, *, verify: bool) -> str:
        blob = path.resolve()
        known = None if verify else self._ledger.get(str(blob))
        if known is not None and self._holds(known, blob):
            return known.sha256
        digest = self._computed(blob, path.name, progress)
        with suppress(CacheError):  # it will be hashed again
            self._ledger.put({str(blob): digest})
        return digest.sha256

    @property
    def _ledger(self) -> Ledger[Digest]:
        return Ledger(self.cache, "digests", Digest)

    def _holds(self, known: Digest, blob: Path) -> bool:
        """Whether a remembered hash still speaks for the file; a clock that was set back ends it too."""
        return _state(blob) == (known.size, known.mtime_ns) and 0 <= self.now() - known.checked_at < _WEEK_S

    def _computed(self, blob: Path, name: str, progress: Progress) -> Digest:
        size, mtime_ns = _state(blob)
        sha256 = _sha256(blob, name, progress)
        if _state(blob) != (size, mtime_ns):
            raise ModelError(f"{blob} changed while it was read; wait until it is complete and run again.")
        return Digest(sha256=sha256, size=size, mtime_ns=mtime_ns, checked_at=self.now())


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Say which file the disk does not let read."""
    try:
        yield
    except OSError as error:
        raise ModelError(
            f"{path} cannot be read: {error.strerror or error}. Mend its rights or the disk, or use --mtp-model."
        ) from error


def _state(path: Path) -> tuple[int, int]:
    """Size and time of change, which a changed file does not keep both."""
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def _sha256(path: Path, name: str, progress: Progress) -> str:
    progress(f"hashing {name}")
    meter = Meter(f"hashing {name}", path.stat().st_size, progress)
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            meter.add(len(chunk))
    return digest.hexdigest()
