"""A surprise of the history in words, the same wherever a run is shown."""

from pytest_mtp.core.history_reason import quantity
from pytest_mtp.core.history_verdict import Surprise


def surprising(one: Surprise) -> str:
    """What the newest value is, and what its level let expect; without the name of the series and a full stop."""
    low, high, level, value = (quantity(one.key, number) for number in (one.low, one.high, one.mean, one.value))
    again = ", as the run before" if one.recurs else ""
    sense = "a loss" if one.loss else "no loss"
    return f"is {value}, expected {low} to {high} by its level of {level}; {sense}{again}"
