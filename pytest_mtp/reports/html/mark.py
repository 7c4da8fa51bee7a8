"""How an outcome is told without colour: each has a shape of its own, and its word beside it."""

from dataclasses import dataclass

from pytest_mtp.core.verdict import Outcome, Verdict
from pytest_mtp.reports.line import Tone, tone_of

SHAPES = {
    Outcome.PASS: "disc",
    Outcome.IMPROVED: "up",
    Outcome.REGRESSION: "down",
    Outcome.NOT_EXERCISED: "empty-set",
    Outcome.INCONCLUSIVE: "diamond",
    Outcome.NO_BASELINE: "ring",
    Outcome.INVALID: "saltire",
    Outcome.NOT_TOLD: "dash",
    Outcome.ERROR: "cross",
}


@dataclass(frozen=True, slots=True)
class Mark:
    """A shape, its tone, and the word beside it."""

    shape: str
    tone: str
    word: str
    """The outcome, spelled as everywhere else."""


def mark_of(verdict: Verdict | Outcome) -> Mark:
    """The mark of a verdict."""
    outcome = verdict if isinstance(verdict, Outcome) else verdict.outcome
    return Mark(SHAPES[outcome], tone_of(outcome).value, outcome.value)


PLAIN = Mark("disc", Tone.PLAIN.value, "")
