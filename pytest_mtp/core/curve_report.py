"""A measured cost curve as a value: its campaigns, what llama-bench and the memory gave, and what follows from them."""

import math
from dataclasses import dataclass

from pytest_mtp.core.cost_curve import CostCurve, CurvePoint, point_of
from pytest_mtp.core.draft_statistics import drafting_cost
from pytest_mtp.core.efficiency import StepParts
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
