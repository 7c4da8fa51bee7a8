"""An end for questions whose answers come in drips: a time-out on silence never ends them."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def within(deadline_s: float, act: Callable[[], T]) -> T:
    """What ``act`` returns or raises; ``TimeoutError`` when it takes longer.

    It then goes on in a thread that ends with the process, so it may hold nothing that others wait for.
    """
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(act())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True, name="pytest-mtp-question").start()
    try:
        return answer.result(timeout=deadline_s)
    except TimeoutError as error:
        if answer.done():
            raise
        raise TimeoutError(f"no whole answer within {deadline_s:g} s") from error
