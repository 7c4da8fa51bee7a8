"""What one suite asks beside the gate's own question, and what came of it.

A study holds the campaigns of one or several variants (cache types, depths of a draft, lengths of a prompt), and bounds
for the ratios that follow from them. Like a campaign's results its own follow from samples, and are computed afresh.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from pytest_mtp.core.profile import Gate
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.speedup import Estimate
from pytest_mtp.core.verdict import Outcome, Verdict, Yardstick


class Suite(Enum):
    """The questions besides speedup, acceptance and absolute speed."""

    PROMPT_PROCESSING = "prompt processing"
    LATENCY = "latency"
    DRAFT_DEPTH = "draft depth"
    CONTEXT = "context"
    PARALLEL = "parallel"
    MEMORY = "memory"
    SOAK = "soak"
    TEXT = "text"
    KV_CACHE = "KV cache"
    OTHER_SPECULATION = "other speculation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The least, or the most, that a ratio may be."""

    limit: float
    most: bool = False
    """Whether it is the most: of times and memory less is better."""
    yardstick: Yardstick = Yardstick.FLOOR

    def __str__(self) -> str:
        source = "recorded" if self.yardstick is Yardstick.BASELINE else "profile"
        return f"{'at most' if self.most else 'at least'} {self.limit:.2f}x ({source})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """One ratio with the two values behind it, from samples; the second value over the first."""

    name: str
    """What a reader sees, such as ``prompt tok/s``."""
    kind: str
    """Which bound it has to keep; several quantities may share one."""
    unit: str
    first: float
    """Of the plain arm, of the first variant, or of the beginning: what the suite compares with."""
    second: float
    ratio: Estimate
    sides: tuple[str, str] | None = None
    """What the two values are of, where that is not what the study's others are of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Something that holds or does not, without a spread."""

    name: str
    outcome: Outcome
    said: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a suite reads out of its campaigns."""

    quantities: tuple[Quantity, ...] = ()
    checks: tuple[Check, ...] = ()
    notices: tuple[str, ...] = ()
    """What a reader should know and nothing is judged by: a recommendation, a variant that the build lacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One of the campaigns of a study."""

    name: str
    campaign: Campaign


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantityResult:
    """One ratio, held against its bound; without one it is shown and judges nothing."""

    name: str
    unit: str
    first: float
    second: float
    blocks: int
    ratio: float
    low: float
    high: float
    level: float
    """Two-sided level of [low, high]: the interval that decided."""
    bound: Bound | None
    outcome: Outcome | None
    """``None`` without a bound."""
    sides: tuple[str, str] | None = None
    """What the two values are of, where they are not the study's first and second."""


_UNMEASURED = Verdict(outcome=Outcome.INVALID, reason="nothing was measured yet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """One suite's question about one flag set; ``results`` and what follows are computed from what is before them."""

    suite: Suite
    flag_set: str
    subject: str
    """What tells it from other studies of the suite, such as ``4096 tokens``; empty where there is one alone."""
    first: str
    """What the first value of a quantity is of, such as ``plain``."""
    second: str
    variants: tuple[Variant, ...]
    """Empty where the campaign of the flag set itself is the evidence."""
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    """By the kind of quantity."""
    demands: Mapping[str, float] = field(default_factory=dict)
    """What checks demand, by name: settings of the profile."""
    left_out: tuple[str, ...] = ()
    """What could not be asked, and why."""
    gate: Gate
    again: tuple[Variant, ...] = ()
    """The variants once more in fresh starts, where they were beyond a bound; red is what is so there too."""
    results: tuple[QuantityResult, ...] = ()
    checks: tuple[Check, ...] = ()
    notices: tuple[str, ...] = ()
    verdict: Verdict = _UNMEASURED

    def sides(self, one: QuantityResult) -> tuple[str, str]:
        """What the two values of a ratio are of."""
        return one.sides or (self.first, self.second)

    @property
    def title(self) -> str:
        """Suite and subject, as they are shown."""
        return f"{self.suite.value}, {self.subject}" if self.subject else self.suite.value
