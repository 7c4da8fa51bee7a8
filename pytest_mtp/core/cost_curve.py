"""Where multi-token prediction begins to pay on a machine: the step's cost c over tokens per step tau.

S = tau / c, and c hardly depends on tau: every step drafts and verifies the same number of
tokens, whatever comes of them. So a straight line is laid through the measured costs, and MTP
pays where it is below tau. The n-th block of every point is one replicate: the line is laid
once for each, and their spread gives the intervals.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from statistics import fmean, linear_regression

from pytest_mtp.core.factors import step_cost
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.speedup import Estimate
from pytest_mtp.core.tau import acceptance
from pytest_mtp.errors import InputError

_HALVINGS = 40


class Payoff(Enum):
    """Whether MTP pays, between a step that accepts nothing and one that accepts every draft."""

    ALWAYS = "always"
    ABOVE = "above the break-even"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The cost of a step, in plain steps, where it makes ``tau`` tokens."""

    tau: float
    step_cost: Estimate

    @property
    def speedup(self) -> Estimate:
        """What that comes to: S = tau / c, block by block."""
        return Estimate(tuple(math.log(self.tau) - cost for cost in self.step_cost.logs))


def point_of(campaign: Campaign, prompt_class: str) -> CurvePoint | None:
    """The point of one class of a campaign; ``None`` while it has no valid block."""
    counts = acceptance(campaign, prompt_class)
    return None if counts is None else CurvePoint(counts.tau, step_cost(campaign, prompt_class))


@dataclass(frozen=True, slots=True)
class CostCurve:
    """The points of one machine; one point means that c is the same everywhere. InputError without any block."""

    points: tuple[CurvePoint, ...]
    n_max: int
    """Most tokens drafted in one step: tau lies between 1 and one more than this."""

    def __post_init__(self) -> None:
        if not self.blocks:
            raise InputError("A cost curve needs a point, and a valid block of every point.")

    @property
    def blocks(self) -> int:
        """Replicates: the blocks that every point has."""
        return min((point.step_cost.blocks for point in self.points), default=0)

    @property
    def highest_tau(self) -> float:
        """Tokens of a step whose drafts are all accepted."""
        return self.n_max + 1.0

    def step_cost(self, tau: float) -> Estimate:
        """The cost that the line says for a step of ``tau`` tokens; empty where a replicate says none above 0."""
        return self._estimate(lambda line: line.at(tau))

    def speedup(self, tau: float) -> Estimate:
        """The speedup to expect at ``tau``; empty where ``step_cost`` is."""
        return CurvePoint(tau, self.step_cost(tau)).speedup

    @property
    def payoff(self) -> Payoff:
        """Judged by the middle alone; the interval of ``break_even`` says how sure that is."""
        if self._line.at(1.0) <= 1.0:
            return Payoff.ALWAYS
        return Payoff.ABOVE if self._line.at(self.highest_tau) < self.highest_tau else Payoff.NEVER

    @property
    def break_even(self) -> Estimate:
        """The tau at which S is 1, wherever it lies; empty where a replicate has no such tau above 0."""
        return self._estimate(lambda line: line.crossing)

    @property
    def misfit(self) -> float:
        """How far the worst point lies from the line, as a share of its cost: what a straight line cannot say."""
        return max(abs(point.step_cost.ratio / self._line.at(point.tau) - 1) for point in self.points)

    def _estimate(self, value: "Callable[[_Line], float]") -> Estimate:
        found = [value(line) for line in self._lines]
        usable = all(0 < one < math.inf for one in found)
        return Estimate(tuple(map(math.log, found)) if usable else ())

    @property
    def _lines(self) -> "tuple[_Line, ...]":
        logs = (point.step_cost.logs[: self.blocks] for point in self.points)
        return tuple(self._through(replicate) for replicate in zip(*logs, strict=True))

    @property
    def _line(self) -> "_Line":
        return self._through(point.step_cost.log_mean for point in self.points)

    def _through(self, logs: Iterable[float]) -> "_Line":
        taus = [point.tau for point in self.points]
        costs = list(map(math.exp, logs))
        if len(set(taus)) == 1:
            return _Line(0.0, fmean(costs))
        return _Line(*linear_regression(taus, costs))


@dataclass(frozen=True, slots=True)
class _Line:
    slope: float
    intercept: float

    def at(self, tau: float) -> float:
        return self.intercept + self.slope * tau

    @property
    def crossing(self) -> float:
        """Where it meets tau itself; inf where a token more costs as much as it brings."""
        return self.intercept / (1 - self.slope) if self.slope < 1 else math.inf


def sentence(curve: CostCurve, level: float = 0.95) -> str:
    """When MTP pays on this machine, with the interval of that."""
    if curve.payoff is Payoff.ALWAYS:
        cost = curve.step_cost(1.0)
        said = f"even a step that accepts no draft costs {cost.ratio:.2f} of a plain one"
        return f"MTP pays at any acceptance on this machine: {said}{_interval(cost, level)}."
    if curve.payoff is Payoff.NEVER:
        best = curve.speedup(curve.highest_tau)
        said = f"with all {curve.n_max} drafts accepted its speedup is {best.ratio:.2f}x"
        return f"MTP never pays on this machine: {said}{_interval(best, level)}."
    at = curve.break_even
    if not at.blocks or not 1 < at.ratio < curve.highest_tau:
        return "MTP pays above some acceptance on this machine, but the blocks disagree where: measure more of them."
    return f"MTP pays above {at.ratio:.2f} tokens per step on this machine{_interval(at, level)}."


def _interval(estimate: Estimate, level: float) -> str:
    low, high = estimate.interval(level)
    if not math.isfinite(high):
        return " (one block, so without an interval)"
    return f" ({level * 100:g} % interval [{low:.2f}, {high:.2f}])"


def rates_of(tau: float, n_max: int) -> tuple[float, ...]:
    """Acceptance by chance that makes ``tau`` tokens of a step, each place as likely after the one before it."""
    if not 1 <= tau <= n_max + 1:
        raise InputError(f"{n_max} drafts make between 1 and {n_max + 1} tokens of a step, not {tau:g}.")
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        too_few = 1 + sum(_powers(middle, n_max)) < tau
        low, high = (middle, high) if too_few else (low, middle)
    # Rounded, since a command line shows them; the ends are met exactly.
    return tuple(round(one, 6) for one in _powers(high, n_max))


def _powers(share: float, n_max: int) -> tuple[float, ...]:
    return tuple(share**place for place in range(1, n_max + 1))
