"""One run as a value: campaigns, what they were held against, and what was concluded.

It carries samples and yardsticks, so that a report is judged again without a server.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from pytest_mtp.core.baseline import Recorded, merged
from pytest_mtp.core.calibration import calibration
from pytest_mtp.core.comparison import Compared, judge_against
from pytest_mtp.core.judge import judge
from pytest_mtp.core.profile import Gate, Reference
from pytest_mtp.core.rate import RateResult
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.study import Study
from pytest_mtp.core.study_judge import judged_study
from pytest_mtp.core.verdict import ClassResult, Verdict
from pytest_mtp.core.yardsticks import Yardsticks
from pytest_mtp.errors import InputError

# 4 - studies of the further suites; samples may keep texts and arrivals
# 3 - a head may be compared with a base
# 2 - a baseline has sessions; blocks of fresh starts, and the speeds' verdicts, are kept
# 1 - first version
REPORT_VERSION = 4
_OLDER = (1, 2, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A campaign with its yardsticks and its results; ``results`` follow from the rest."""

    campaign: Campaign
    gate: Gate
    floors: dict[str, float] = field(default_factory=dict)
    expected_tau: dict[str, float] = field(default_factory=dict)
    references: dict[str, Reference] = field(default_factory=dict)
    sessions: tuple[Recorded, ...] = ()
    """The baseline: what was on record, oldest first."""
    compared: Compared | None = None
    """What it was compared with instead of a baseline: another build, model or flag set of the same session."""
    again: Campaign | None = None
    """The classes that were below their limits, in fresh starts; ``None`` where nothing had to be repeated."""
    results: tuple[ClassResult, ...] = ()
    rates: tuple[RateResult, ...] = ()
    notices: tuple[str, ...] = ()
    """What a reader should know and no verdict says."""

    @property
    def yardsticks(self) -> Yardsticks:
        """What the campaign is held against."""
        return Yardsticks(
            gate=self.gate,
            floors=self.floors,
            expected_tau=self.expected_tau,
            baseline=merged([one.campaign for one in self.sessions]),
            calibration=calibration([one.campaign for one in self.sessions]),
        )

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Every verdict, of classes and of speeds."""
        of_classes = [verdict for result in self.results for verdict in (result.speed, result.drafts)]
        return (*of_classes, *(rate.verdict for rate in self.rates))

    def rejudged(self) -> "Judged":
        """The same with its verdicts computed afresh from samples and yardsticks."""
        if self.compared is None:
            judgement = judge(self.campaign, self.yardsticks, self.again)
        else:
            judgement = judge_against(self.campaign, self.compared, self.gate)
        return replace(self, results=judgement.results, rates=judgement.rates)


def migrated(document: dict[str, Any]) -> dict[str, Any]:
    """A stored report of an older format as this one; what is of this format passes through."""
    if document.get("version") not in _OLDER:
        return document
    if document["version"] == 3:  # noqa: PLR2004 - what came with 4 may be left out
        return {**document, "version": REPORT_VERSION}
    # Speeds are judged again anyway, and had not all that they have now.
    campaigns = [{**one, "rates": []} for one in document["judged"]]
    if document["version"] == 1:
        campaigns = [{**one, "sessions": [one["baseline"]] if one.get("baseline") else []} for one in campaigns]
    return {**document, "version": REPORT_VERSION, "judged": campaigns}


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
    studies: tuple[Study, ...] = ()
    """What the further suites found."""

    def campaign_of(self, flag_set: str) -> Campaign | None:
        """The gate's own campaign of a flag set; ``None`` where none was measured."""
        return next((one.campaign for one in self.judged if one.campaign.flag_set == flag_set), None)

    def rejudged(self) -> "RunReport":
        """The same with every verdict computed afresh; a study without campaigns is about its flag set's own."""
        return replace(
            self,
            judged=tuple(one.rejudged() for one in self.judged),
            studies=tuple(judged_study(one, self.campaign_of(one.flag_set)) for one in self.studies),
        )

    def __post_init__(self) -> None:
        if self.version > REPORT_VERSION:
            raise InputError(
                f"This report has format {self.version}, this pytest-mtp reads up to {REPORT_VERSION}: "
                "update pytest-mtp."
            )
