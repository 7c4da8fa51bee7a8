"""One line of a summary for a terminal, and how names and outcomes look in it."""

from dataclasses import dataclass
from enum import Enum

from pytest_mtp.core.verdict import Outcome

NAME = 18
"""Columns of the name of a class."""


class Tone(Enum):
    """How a line should look where colours are shown; its words say the same."""

    PLAIN = "plain"
    HEAD = "head"
    GOOD = "good"
    BAD = "bad"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the summary."""

    text: str
    tone: Tone = Tone.PLAIN


def tone_of(outcome: Outcome) -> Tone:
    """Green, red, or neither."""
    if outcome.passes:
        return Tone.GOOD
    if outcome.blameless:
        return Tone.PLAIN
    return Tone.OPEN if outcome.open else Tone.BAD


def shortened(name: str, width: int = NAME) -> str:
    """A name in its column."""
    return name if len(name) <= width else f"{name[: width - 1]}…"
