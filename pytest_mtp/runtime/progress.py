"""How long work says where it is: one short line of text per call."""

import shutil
import time
from collections.abc import Callable
from typing import TextIO

Progress = Callable[[str], None]

_QUIET_S = 10.0  # a log that nobody watches wants a line now and then, not one per request


def silent(text: str) -> None:
    """Say nothing."""


class ProgressLine:
    """One line that is overwritten on a terminal; elsewhere a line of its own, at most every ten seconds."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._said_at = -_QUIET_S
        self._began = False

    def show(self, text: str) -> None:
        """Show the newest state."""
        if self._live:
            # After pytest's own dots the line starts on a row of its own.
            start = "\r\x1b[2K" if self._began else "\n"
            self._stream.write(start + text[: shutil.get_terminal_size().columns - 1])
        elif time.monotonic() - self._said_at >= _QUIET_S:
            self._stream.write(f"{text}\n" if self._began else f"\n{text}\n")
            self._said_at = time.monotonic()
        self._began = True
        self._stream.flush()

    def clear(self) -> None:
        """Take the line away, so that what follows starts on an empty one."""
        if self._live and self._began:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()
            self._began = False
