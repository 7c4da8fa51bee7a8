"""The verdict of one prompt class of one flag set, always with a reason that can be read aloud."""

from dataclasses import dataclass
from enum import Enum

from pytest_mtp.core.cause import Cause
from pytest_mtp.core.tau import Acceptance


class Outcome(Enum):
    """The table of verdicts; ``passes``, ``fails`` and ``open`` say what each does to its test."""

    PASS = "PASS"
    IMPROVED = "IMPROVED"
    REGRESSION = "REGRESSION"
    NOT_EXERCISED = "NOT_EXERCISED"
    INCONCLUSIVE = "INCONCLUSIVE"
    NO_BASELINE = "NO_BASELINE"
    INVALID = "INVALID"
    NOT_TOLD = "NOT_TOLD"
    """The engine does not say what would be judged: the test is skipped, and the exit status stays."""
    ERROR = "ERROR"

    @property
    def passes(self) -> bool:
        """Whether the test is green."""
        return self in {Outcome.PASS, Outcome.IMPROVED}

    @property
    def blameless(self) -> bool:
        """Whether nothing is held against it: it passes, or there is nothing that could be told."""
        return self.passes or self is Outcome.NOT_TOLD

    @property
    def fails(self) -> bool:
        """Whether the test is red."""
        return not self.blameless and not self.open

    @property
    def lost(self) -> bool:
        """Whether MTP is proven to do less than it did."""
        return self in {Outcome.REGRESSION, Outcome.NOT_EXERCISED}

    @property
    def open(self) -> bool:
        """Whether it is no answer: the test is skipped with the reason, and the run ends with 17."""
        return self in {Outcome.INCONCLUSIVE, Outcome.NO_BASELINE, Outcome.INVALID}


class Yardstick(Enum):
    """What a measurement is held against."""

    BASELINE = "baseline"
    FLOOR = "floor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The smallest speedup that is no regression, and where it comes from."""

    speedup: float
    yardstick: Yardstick
    baseline: float | None = None
    """The recorded speedup; ``None`` for a floor."""
    tolerance: float = 0.0
    """The share of the baseline that may be lost, its own uncertainty included."""

    def __str__(self) -> str:
        if self.baseline is None:
            return f"the floor {self.speedup:.2f}x"
        return f"{self.speedup:.2f}x (baseline {self.baseline:.2f}x less {self.tolerance:.1%})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """An outcome with its reason."""

    outcome: Outcome
    reason: str
    cause: Cause | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstBase:
    """One class of a head beside its base; changes are head over base, 1 is none."""

    mtp: float
    """Of the mtp arm's tokens per second: what is judged."""
    low: float
    high: float
    level: float
    """Two-sided level of [low, high]: the interval that decided."""
    plain: float
    plain_tps: float
    """Of the base, as are the next three."""
    mtp_tps: float
    speedup: float
    step_cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassResult:
    """All that is known of one prompt class; measured quantities are ``None`` where nothing was measured."""

    flag_set: str
    prompt_class: str
    speed: Verdict
    """Is MTP as fast as it was?"""
    drafts: Verdict
    """Are as many drafts accepted as were?"""
    blocks: int = 0
    speedup: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    """Two-sided level of [low, high]: the interval that decided."""
    block_sd: float | None = None
    plain_tps: float | None = None
    mtp_tps: float | None = None
    acceptance: Acceptance | None = None
    tau_then: float | None = None
    step_cost: float | None = None
    limit: Limit | None = None
    detectable: float | None = None
    """The smallest loss beyond the limit, as a share, that would have been found 4 times in 5; ``None``: none."""
    against: AgainstBase | None = None
    """``None`` where no two builds were compared."""
