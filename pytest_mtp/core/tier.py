"""How closely two builds are compared."""

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class Rule:
    """What is demanded of a head."""

    margin: float
    """Loss of tokens per second that is not yet red, as a share."""
    looks: tuple[int, ...]
    """Valid blocks after which the comparison is judged."""
    equivalence: bool = False
    """Whether a gain beyond the margin must be excluded too, as of a change that should change nothing."""


class Tier(Enum):
    """How closely is looked."""

    SCREEN = "screen"
    FULL = "full"

    def rule(self, *, equivalence: bool = False) -> Rule:
        """Screen excludes losses of 5 % in few blocks; full resolves 1 to 2 %."""
        margin, looks = {Tier.SCREEN: (0.05, (3, 4, 6)), Tier.FULL: (0.02, (8, 16, 24))}[self]
        return Rule(margin, looks, equivalence)
