"""The bytes of a file that lies elsewhere, fetched where they are read and nowhere else."""

import io
from collections.abc import Callable
from typing import BinaryIO, cast

_CHUNK_BYTES = 4 * 2**20
"""A header is some megabytes, most of them the vocabulary."""


class _Remote(io.RawIOBase):
    """A file of ``size`` bytes of which ``part(start, length)`` gives any stretch."""

    def __init__(self, part: Callable[[int, int], bytes], size: int) -> None:
        self._part, self._size, self._at = part, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]  # typeshed names a private protocol
        length = min(len(view), max(0, self._size - self._at))
        if not length:
            return 0
        data = self._part(self._at, length)[:length]
        view[: len(data)] = data
        self._at += len(data)
        return len(data)


def remote_file(part: Callable[[int, int], bytes], size: int) -> BinaryIO:
    """A stream over a file of ``size`` bytes, read in stretches of megabytes as they are needed."""
    return cast("BinaryIO", io.BufferedReader(_Remote(part, size), _CHUNK_BYTES))
