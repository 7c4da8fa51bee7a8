"""Polite ends by another program, taken like Ctrl-C, so that what was borrowed is given back."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_POLITE = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def sigterm_as_ctrl_c() -> Iterator[None]:
    """Let SIGTERM, and SIGHUP of a closed terminal, raise KeyboardInterrupt in the block.

    Of another thread than the first it does nothing. What is ignored, as below ``nohup``, stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = {number: signal.getsignal(number) for number in _POLITE}
    taken = [number for number, handler in previous.items() if handler not in (signal.SIG_IGN, None)]
    for number in taken:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, previous[number])
