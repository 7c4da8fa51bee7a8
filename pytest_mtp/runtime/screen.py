"""A block of lines that is overwritten on a terminal; elsewhere a line for each change."""

import os
import shutil
from collections.abc import Sequence
from typing import TextIO


def overwrites(stream: TextIO) -> bool:
    """Whether what was written there can be taken back: on a terminal that is no dumb one."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class Screen:
    """Whoever writes to the stream otherwise clears it before."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.live = overwrites(stream)
        self._height = 0

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines that a block may have, so that all of it can be overwritten."""
        told = shutil.get_terminal_size()
        return told.columns - 1, max(2, told.lines - 1)

    def show(self, block: Sequence[str], change: str) -> None:
        """Show the newest state: the block on a terminal, the one line of what changed elsewhere."""
        if not self.live:
            self._stream.write(f"{change}\n")
        else:
            self._stream.write(self._up() + "".join(f"\x1b[2K{line}\n" for line in block))
            self._height = len(block)
        self._stream.flush()

    def clear(self) -> None:
        """Take the block away."""
        if self._height:
            self._stream.write(f"{self._up()}\x1b[J")
            self._stream.flush()
            self._height = 0

    def _up(self) -> str:
        """To the first line of the block, with nothing of it left where the next one is shorter."""
        return f"\x1b[{self._height}A\x1b[J" if self._height else ""
