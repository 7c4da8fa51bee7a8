"""How far a long read or download is, said at most once a second."""

import time
from collections.abc import Callable
from typing import Any

from pytest_mtp.core.amount import advance
from pytest_mtp.runtime.progress import Progress

_PAUSE_S = 1.0


class Meter:
    """Counts bytes and says share, total and rate."""

    def __init__(
        self, name: str, total: int | None, progress: Progress, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._name, self._total, self._progress, self._clock = name, total, progress, clock
        self._began_at = self._said_at = clock()
        self._done = 0

    def add(self, size: int) -> None:
        """Count ``size`` more bytes; less than none when some were lost again."""
        self._done += size
        now = self._clock()
        if now - self._said_at >= _PAUSE_S:
            self._said_at = now
            self._progress(advance(self._name, self._done, self._total, now - self._began_at))


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

        def ignore(self, *_arguments: object, **_options: object) -> None:
            """What only draws."""

        update_transfer = set_postfix_str = set_transfer_postfix_str = refresh = close = ignore

    return Bar
