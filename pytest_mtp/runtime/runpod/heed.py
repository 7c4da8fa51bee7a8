"""Ctrl-C and its kin, remembered: as an exception alone one that falls into a fork is lost.

Python calls functions around each fork, such as those of ``logging``, and ignores what they raise, a KeyboardInterrupt
of a signal that arrives there too. Where a pod costs money until somebody deletes it, it is not to be lost.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_POLITE = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Heed:
    """A handler that raises, and knows afterwards that it was called."""

    def __init__(self) -> None:
        self.called = False

    def __call__(self, _number: int, _frame: object) -> None:
        self.called = True
        raise KeyboardInterrupt


@contextmanager
def heeding_signals() -> Iterator[None]:
    """Let SIGINT, SIGTERM, and SIGHUP of a closed terminal, end the block with KeyboardInterrupt.

    Of another thread than the first it does nothing. What is ignored, as below ``nohup``, stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _POLITE}
    taken = [number for number, handler in before.items() if handler not in (signal.SIG_IGN, None)]
    heed = _Heed()
    for number in taken:
        signal.signal(number, heed)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number])


def check_interrupted() -> None:
    """KeyboardInterrupt where a signal came that was lost as one; to be asked after every child."""
    for number in _POLITE:
        handler = signal.getsignal(number)
        if isinstance(handler, _Heed) and handler.called:
            raise KeyboardInterrupt
