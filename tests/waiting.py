"""Waiting for what another process does, with a deadline and a word for what never came."""

import time
from collections.abc import Callable

DEADLINE_S = 120.0


def until(condition: Callable[[], object], what: str, within_s: float = DEADLINE_S) -> None:
    """Wait until the condition holds; AssertionError names ``what`` did not come true ``within_s`` seconds."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"it never came that {what}"
        time.sleep(0.02)
