"""How numbers look on the page; what was not measured is a dash."""

import math

from pytest_mtp.core.amount import memory_amount
from pytest_mtp.core.history import Metric, Value

NONE = "-"
_RATIOS = frozenset({Metric.SPEEDUP, Metric.TAU, Metric.STEP_COST})


def number(value: float | None, places: int = 2) -> str:
    """``1.84``."""
    return NONE if value is None or not math.isfinite(value) else f"{value:.{places}f}"


def times(value: float | None) -> str:
    """``1.84x``."""
    told = number(value)
    return told if told == NONE else f"{told}x"


def span(low: float | None, high: float | None, places: int = 2) -> str:
    """``[1.80, 1.88]``; an end without bound is told as such."""
    if low is None or high is None:
        return NONE
    return f"[{low:.{places}f}, {'∞' if math.isinf(high) else f'{high:.{places}f}'}]"


def change(ratio: float | None) -> str:
    """``-13.0%`` of a ratio, which is 1 where nothing changed."""
    return NONE if ratio is None or not math.isfinite(ratio) else f"{ratio - 1:+.1%}"


def change_span(low: float, high: float) -> str:
    """``[-14.1%, -11.9%]``."""
    return f"[{change(low)}, {'∞' if math.isinf(high) else change(high)}]"


def share(value: float | None) -> str:
    """``98.6%``."""
    return NONE if value is None or not math.isfinite(value) else f"{value:.1%}"


def measured(metric: Metric, value: Value) -> str:
    """A value of the history in its unit, with its interval."""
    told = level(metric, value.value)
    if value.low is None or value.high is None or metric is Metric.MEMORY:
        return told
    return f"{told} {span(value.low, value.high, 2 if metric in _RATIOS else 1)}"


def level(metric: Metric, value: float) -> str:
    """A value of the history in its unit."""
    if metric is Metric.MEMORY:
        return memory_amount(value)
    if metric is Metric.SPEEDUP:
        return times(value)
    return number(value, 2 if metric in _RATIOS else 1)
