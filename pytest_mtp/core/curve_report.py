"""A measured cost curve as a value: its campaigns, what llama-bench and the memory gave, and what follows from them."""

import math
from dataclasses import dataclass
from statistics import geometric_mean

from pytest_mtp.core.change import Change, pooled
from pytest_mtp.core.cost_curve import CostCurve, CurvePoint, point_of
from pytest_mtp.core.draft_statistics import drafting_cost
from pytest_mtp.core.efficiency import CostChange, StepParts, sentence
from pytest_mtp.core.environment import memory_bandwidth
from pytest_mtp.core.llama_bench import BenchTest, batch_cost
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.speedup import Estimate, middle_mean, throughput
from pytest_mtp.core.traffic import share
from pytest_mtp.errors import InputError

# 1 - first version
CURVE_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPoint:
    """One campaign whose drafts were taken by chance."""

    rates: tuple[float, ...]
    campaign: Campaign
    drafting_ms: tuple[float | None, ...] = ()
    """Drafting in a step of the mtp arm of every valid block; ``None`` where the server's log did not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveReport:
    """All that was measured for one curve; everything else is computed from it."""

    version: int
    created_at: str
    """RFC 3339, UTC."""
    tool: str
    profile: str
    flag_set: str
    prompt_class: str
    n_max: int
    machine: dict[str, str]
    """The facts of the fingerprint."""
    points: tuple[MeasuredPoint, ...]
    bench: tuple[BenchTest, ...] = ()
    """Batches of ``n_max`` and one tokens, and single ones; empty where they were not measured."""
    notices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.version > CURVE_VERSION:
            raise InputError(
                f"This curve has format {self.version}, this pytest-mtp reads up to {CURVE_VERSION}: update pytest-mtp."
            )

    @property
    def curve(self) -> CostCurve:
        """The curve; InputError where a point has no valid block."""
        found = [self._point(one) for one in self.points]
        return CostCurve(tuple(one for one in found if one is not None), self.n_max)

    def _point(self, measured: MeasuredPoint) -> CurvePoint | None:
        return point_of(measured.campaign, self.prompt_class)

    @property
    def verification(self) -> float | None:
        """A batch of all drafts over a single token, the middle half of the repetitions; ``None``: not measured."""
        return math.exp(middle_mean(batch_cost(self.bench, self.n_max + 1).logs)) if self.bench else None

    def parts(self, measured: MeasuredPoint) -> StepParts | None:
        """Where the step of one point spends its time; ``None`` where a part is not known."""
        point, verification = self._point(measured), self.verification
        drafting = drafting_cost(measured.campaign, measured.drafting_ms)
        if point is None or verification is None or not drafting.blocks:
            return None
        return StepParts(whole=point.step_cost.ratio, verification=verification, drafting=drafting.ratio)

    @property
    def mean_parts(self) -> StepParts | None:
        """Where a step spends its time, over all points; ``None`` where a part is not known."""
        found = [parts for one in self.points if (parts := self.parts(one)) is not None]
        if len(found) < len(self.points):
            return None
        return StepParts(
            whole=geometric_mean(one.whole for one in found),
            verification=found[0].verification,
            drafting=geometric_mean(one.drafting for one in found),
        )

    @property
    def plain_tps(self) -> Estimate:
        """Tokens per second of the plain arm, over the blocks of all points."""
        found = (throughput(one.campaign, Arm.PLAIN, self.prompt_class) for one in self.points)
        return Estimate(tuple(log for estimate in found for log in estimate.logs))

    @property
    def bandwidth(self) -> float | None:
        """Bytes per second of the memory that holds the weights, the card's or the machine's; ``None``: not known."""
        told = (memory_bandwidth(one.campaign) for one in self.points)
        return max((one for one in told if one is not None), default=None)

    @property
    def bytes_per_token(self) -> int | None:
        """Weights that the plain arm reads for each token."""
        return self.points[0].campaign.circumstances.bytes_per_token

    @property
    def bandwidth_share(self) -> float | None:
        """What of the bandwidth the plain arm takes; ``None`` where that is unknown, or weights lie in two memories."""
        if self.bandwidth is None or self.bytes_per_token is None or self._split:
            return None
        return share(self.bytes_per_token, self.plain_tps.ratio, self.bandwidth)

    @property
    def _split(self) -> bool:
        starts = (start for one in self.points for block in one.campaign.valid for start in block.starts)
        return any(start.offloaded is not None and 0 < start.offloaded[0] < start.offloaded[1] for start in starts)


_LEVEL = 0.95
_LEAST_CHANGE = 0.02


def compared(now: CurveReport, then: CurveReport) -> str:
    """Which part of a step became dearer since ``then``, in a sentence; InputError where the two cannot be compared."""
    for what, is_, was in (
        ("machine", now.machine, then.machine),
        ("profile", now.profile, then.profile),
        ("prompt class", now.prompt_class, then.prompt_class),
        ("drafts in a step", now.n_max, then.n_max),
        ("model", _model(now), _model(then)),
    ):
        if is_ != was:
            raise InputError(f"The two curves differ in their {what} ({_said(is_)} and {_said(was)}): measure it anew.")
    parts, were = now.mean_parts, then.mean_parts
    if parts is None or were is None:
        raise InputError(
            "One of the two curves does not know where its steps spend their time: measure it without --no-bench."
        )
    low, high = Change(_cost(then), _cost(now)).interval(_LEVEL)
    return sentence(CostChange(parts, were), max(_LEAST_CHANGE, math.sqrt(high / low) - 1))


def _cost(report: CurveReport) -> Estimate:
    """The step cost over all points, block by block."""
    return pooled([point.step_cost for point in report.curve.points])


def _model(report: CurveReport) -> str:
    return report.points[0].campaign.circumstances.model


def _said(value: object) -> str:
    return ", ".join(map(str, value.values())) if isinstance(value, dict) else str(value)
