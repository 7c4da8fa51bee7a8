"""One run as a value: campaigns, what they were held against, and what was concluded.

It carries samples and yardsticks, so that a report is judged again without a server.
"""

from dataclasses import dataclass, field

from pytest_mtp.core.baseline import Recorded
from pytest_mtp.core.judge import Yardsticks, judge
from pytest_mtp.core.profile import Gate, Reference
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.verdict import ClassResult
from pytest_mtp.errors import InputError

# 1 - first version
REPORT_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A campaign with its yardsticks and its results; ``results`` follow from the rest."""

    campaign: Campaign
    gate: Gate
    floors: dict[str, float] = field(default_factory=dict)
    expected_tau: dict[str, float] = field(default_factory=dict)
    references: dict[str, Reference] = field(default_factory=dict)
    baseline: Recorded | None = None
    results: tuple[ClassResult, ...] = ()
    notices: tuple[str, ...] = ()
    """What a reader should know and no verdict says."""

    @property
    def yardsticks(self) -> Yardsticks:
        """What the campaign is held against."""
        return Yardsticks(
            gate=self.gate,
            floors=self.floors,
            expected_tau=self.expected_tau,
            baseline=self.baseline.campaign if self.baseline else None,
        )

    def rejudged(self) -> tuple[ClassResult, ...]:
        """The results computed afresh from samples and yardsticks."""
        return judge(self.campaign, self.yardsticks)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """Everything one run found out."""

    version: int
    created_at: str
    """RFC 3339, UTC."""
    tool: str
    profile: str
    machine: dict[str, str]
    """The facts of the fingerprint."""
    judged: tuple[Judged, ...]

    def __post_init__(self) -> None:
        if self.version > REPORT_VERSION:
            raise InputError(
                f"This report has format {self.version}, this pytest-mtp reads up to {REPORT_VERSION}: "
                "update pytest-mtp."
            )
