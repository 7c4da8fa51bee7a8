"""How far a long read or download is, said at most once a second."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pytest_mtp.core.amount import advance, amount
from pytest_mtp.runtime.models.hub_refusal import OversizeError
from pytest_mtp.runtime.progress import Progress

_PAUSE_S = 1.0
_SLACK_BYTES = 64 * 2**20  # a stretch may be counted twice where a connection broke within it


class Meter:
    """Counts bytes and says share, total and rate."""

    def __init__(
        self, name: str, total: int | None, progress: Progress, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._name, self._total, self._progress, self._clock = name, total, progress, clock
        self._began_at = self._said_at = self._moved_at = clock()
        self._done = 0

    def add(self, size: int) -> None:
        """Count ``size`` more bytes; less than none when some were lost again."""
        self._done += size
        now = self._moved_at = self._clock()
        if now - self._said_at >= _PAUSE_S:
            self._said_at = now
            self._progress(advance(self._name, self._done, self._total, now - self._began_at))

    def say_silence(self, least_s: float) -> None:
        """Say how far it is and for how long nothing more has come, when that is ``least_s`` or longer."""
        now = self._clock()
        if now - self._moved_at < least_s:
            return
        state = advance(self._name, self._done, self._total, now - self._began_at)
        self._progress(f"{state}; nothing more for {now - self._moved_at:.0f} s")

    def require_announced(self) -> None:
        """``OversizeError`` when far more came than was announced: a body without end would fill the disk."""
        if self._total is not None and self._done > self._total + _SLACK_BYTES:
            raise OversizeError(f"{amount(self._done)} so far, {amount(self._total)} announced")


@contextmanager
def kept_talking(meter: Meter, quiet_s: float) -> Iterator[None]:
    """Say within the block, once per ``quiet_s``, when nothing has come for so long."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(quiet_s):
            meter.say_silence(quiet_s)

    watcher = threading.Thread(target=watch, daemon=True, name="pytest-mtp-meter")
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def bar_class(meter: Meter) -> Any:
    """What huggingface_hub takes as ``tqdm_class``: as much of a bar as it uses, in front of a Meter.

    A file of the Xet store is counted as it is written to the disk: its transfer is packed, so the
    bytes of that say nothing about how far the file is.
    """

    class Bar:
        def __init__(self, **_drawing: object) -> None:
            """How a bar would be drawn is not of interest."""

        def __enter__(self) -> "Bar":
            return self

        def __exit__(self, *_error: object) -> None:
            """Nothing is held."""

        def update(self, size: float = 1) -> None:
            meter.add(int(size))
            meter.require_announced()

        def ignore(self, *_arguments: object, **_options: object) -> None:
            """What only draws."""

        update_transfer = set_postfix_str = set_transfer_postfix_str = refresh = close = ignore

    return Bar
