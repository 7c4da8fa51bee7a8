"""Where the time of a step goes: verifying, drafting, and the rest; and which of them made a step dearer.

All in plain steps. Were there nothing but verifying and drafting, the speedup would be
tau / (verification + drafting); what the measured one is of that is the efficiency.
"""

from dataclasses import dataclass
from enum import Enum

_LEAST_CHANGE = 0.02


class Part(Enum):
    """What a step with drafts spends its time on."""

    VERIFICATION = "verification"
    """The trunk on the last token and its drafts at once, as llama-bench measures it."""
    DRAFTING = "drafting"
    """The MTP head's guesses, as the server measures them."""
    REST = "the rest"
    """Telling the head what was verified, going back behind a wrong draft, sampling, and whatever else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepParts:
    """The cost of a step with drafts, taken apart.

    The parts come from different clocks, so that the rest can be a little below 0, and the efficiency above 1.
    """

    whole: float
    """The measured step cost c."""
    verification: float
    drafting: float

    @property
    def rest(self) -> float:
        """What neither verifies nor drafts."""
        return self.whole - self.ideal

    @property
    def ideal(self) -> float:
        """The cost of a step that verifies and drafts, and does nothing else."""
        return self.verification + self.drafting

    @property
    def efficiency(self) -> float:
        """The measured speedup over the ideal one: the same at every tau."""
        return self.ideal / self.whole

    def ideal_speedup(self, tau: float) -> float:
        """The speedup at ``tau`` tokens per step if there were no rest."""
        return tau / self.ideal

    def of(self, part: Part) -> float:
        """One part."""
        return {Part.VERIFICATION: self.verification, Part.DRAFTING: self.drafting, Part.REST: self.rest}[part]


@dataclass(frozen=True, slots=True)
class CostChange:
    """What became of the cost of a step between two measurements."""

    now: StepParts
    then: StepParts

    @property
    def relative(self) -> float:
        """By what share the whole became dearer; below 0 it became cheaper."""
        return self.now.whole / self.then.whole - 1

    def by(self, part: Part) -> float:
        """What one part adds to that; the three add up to the whole."""
        return (self.now.of(part) - self.then.of(part)) / self.then.whole

    @property
    def part(self) -> Part:
        """The part that moved most in the direction of the whole."""
        sign = 1 if self.relative >= 0 else -1
        return max(Part, key=lambda part: sign * self.by(part))


def sentence(change: CostChange, least: float = _LEAST_CHANGE) -> str:
    """Which part made a step dearer or cheaper, where it changed by ``least`` or more, as a share."""
    if abs(change.relative) < least:
        return f"A step costs what it did ({change.relative:+.1%})."
    word = "dearer" if change.relative > 0 else "cheaper"
    added = ", ".join(f"{part.value} {change.by(part):+.1%}" for part in Part)
    return f"A step became {word} by {abs(change.relative):.1%}, most of it by {change.part.value} ({added})."
