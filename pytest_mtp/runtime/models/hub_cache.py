"""The folder in which huggingface_hub keeps a repository: what it tells about files, and what is left over in it."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pytest_mtp.core.hub import cache_folder, is_sha256

_DAY_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class HubCache:
    """One repository in the hub's cache.

    ::

        ROOT/models--OWNER--REPO/snapshots/COMMIT/FILE       a link to the blob
        ROOT/models--OWNER--REPO/blobs/SHA256                the bytes, under the hash that the hub told
        ROOT/models--OWNER--REPO/blobs/SHA256.RANDOM.incomplete   a download, which a killed process leaves for ever
        ROOT/.locks/models--OWNER--REPO/SHA256.lock          held while the blob is downloaded
    """

    root: Path
    repo: str
    now: Callable[[], float] = time.time

    @property
    def blobs(self) -> Path:
        """Where the bytes are."""
        return self.root / cache_folder(self.repo) / "blobs"

    def commit(self, snapshot: Path) -> str:
        """The commit of a file in the cache."""
        return snapshot.relative_to(self.root / cache_folder(self.repo) / "snapshots").parts[0]

    def unfinished(self) -> int:
        """Bytes in downloads that are not complete, given up or not."""
        return sum(path.lstat().st_size for path in self.blobs.glob("*.incomplete"))

    def free(self) -> int:
        """Bytes that the disk of the cache has left."""
        return shutil.disk_usage(next(path for path in (self.root, *self.root.parents) if path.exists())).free

    def sweep(self) -> int:
        """Delete downloads that were given up more than a day ago; the bytes that this freed."""
        freed = 0
        for path in self.blobs.glob("*.incomplete"):
            # What another user of the cache owns, or another process took away, is left to them.
            with suppress(OSError), self._unused(path) as unused:
                state = path.lstat()
                if unused and self.now() - state.st_mtime > _DAY_S:
                    path.unlink()
                    freed += state.st_size
        return freed

    @contextmanager
    def _unused(self, incomplete: Path) -> Iterator[bool]:
        """Whether nobody downloads into a file; the lock of its blob is held meanwhile."""
        import filelock

        lock_path = self.root / ".locks" / cache_folder(self.repo) / f"{incomplete.name.split('.')[0]}.lock"
        if not lock_path.exists():
            yield True
            return
        lock = filelock.FileLock(lock_path, mode=0o664)
        try:
            lock.acquire(timeout=0)
        except (filelock.Timeout, NotImplementedError):
            yield False
            return
        try:
            yield True
        finally:
            lock.release()


def linked_sha256(snapshot: Path) -> str | None:
    """The hash that the hub told for a cached file; ``None`` where the cache has no links or no such hash.

    It is the name of the link's own target: that can be a link too, into a store of another naming.
    """
    name = snapshot.readlink().name if snapshot.is_symlink() else ""
    return name if is_sha256(name) else None
