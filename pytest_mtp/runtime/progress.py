"""How long work says where it is: one short line of text per call."""

import shutil
import time
from collections.abc import Callable
from typing import TextIO

from pytest_mtp.runtime.screen import overwrites

Progress = Callable[[str], None]

_QUIET_S = 10.0  # a log that nobody watches wants a line now and then, not one per request


_NOTE = "note: "


def silent(text: str) -> None:
    """Say nothing."""


def note(text: str) -> str:
    """What a reader has to see, as progress is told it: its line stays, whatever comes next."""
    return f"{_NOTE}{text}"


class ProgressLine:
    """One line that is overwritten on a terminal; elsewhere a line of its own, at most every ten seconds.

    A ``note`` has a line of its own anywhere, in full.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = overwrites(stream)
        self._said_at = -_QUIET_S
        self._began = False

    def show(self, text: str) -> None:
        """Show the newest state, or a note."""
        if _NOTE in text:
            self.clear()
            self._stream.write(f"{text}\n" if self._began else f"\n{text}\n")
        elif self._live:
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
