"""Why a verdict is what it is: a closed set, and the sentence that says which factor moved by how much.

S = tau / c, so a loss of speedup is a loss of tokens per step, a dearer step, or both; and a step is dear against the
plain arm's, so a plain arm that got faster makes it dearer without anything being lost.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from pytest_mtp.core.change import Change, homogeneous, pooled_change
from pytest_mtp.core.factors import Factors
from pytest_mtp.core.speedup import Estimate

LEVEL = 0.95
"""Two-sided level of the intervals in an explanation: they describe, they do not decide."""

_LITTLE = 0.05
"""What may hide in an interval that includes no change before "unchanged" would say too much."""


class Cause(Enum):
    """The factor that moved."""

    DRAFT_QUALITY = "draft quality"
    STEP_COST = "step cost"
    PLAIN_FASTER = "plain arm faster"
    WHOLE_ENGINE = "whole engine slower"
    PROMPT_PROCESSING = "prompt processing"
    ENVIRONMENT = "environment"
    START_FAILURE = "start failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class CostChange:
    """How the cost of a step changed for one class: its own change, or that of all classes where they agree."""

    change: Change
    pooled: bool
    """Whether it is that of all classes together, which a homogeneity test allowed."""


def cost_changes(
    now: Mapping[str, Factors], then: Mapping[str, Factors], *, paired: bool = False
) -> dict[str, CostChange]:
    """The change of the step cost of every class that both have; one pooled change where they are homogeneous."""
    change = Change.in_blocks if paired else Change
    both = {name: (then[name].step_cost, now[name].step_cost) for name in now if name in then}
    own = {name: change(*costs) for name, costs in both.items() if all(one.blocks for one in costs)}
    if not homogeneous(tuple(own.values())):
        return {name: CostChange(change=change, pooled=False) for name, change in own.items()}
    if not own:
        return {}
    all_classes = pooled_change(tuple(own.values()))
    return {name: CostChange(change=all_classes, pooled=len(own) > 1) for name in own}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """One class then and now, and what its step costs in between."""

    now: Factors
    then: Factors
    cost: CostChange
    difference: str | None = None
    """The first request whose text or counts differ, in words."""
    paired: bool = False
    """Whether both were measured in the same blocks."""

    @property
    def tau(self) -> float:
        """Tokens per step now over then; both are counts."""
        return self.now.tau / self.then.tau

    @property
    def speedup(self) -> float:
        """S now over then."""
        return self._change(self.then.speedup, self.now.speedup).ratio

    @property
    def plain(self) -> Change:
        """The plain arm's tok/s."""
        return self._change(self.then.plain_tps, self.now.plain_tps)

    @property
    def mtp(self) -> Change:
        """The mtp arm's tok/s."""
        return self._change(self.then.mtp_tps, self.now.mtp_tps)

    def _change(self, then: Estimate, now: Estimate) -> Change:
        return Change.in_blocks(then, now) if self.paired else Change(then, now)

    def cause(self) -> Cause:
        """The factor that took the larger part of the loss."""
        lost_drafts = -math.log(self.tau)
        lost_steps = -math.log(self.speedup) - lost_drafts
        return Cause.DRAFT_QUALITY if lost_drafts >= lost_steps else Cause.STEP_COST

    def excused(self, tolerance: float) -> bool:
        """Whether the ratio fell only because the plain arm got faster, while the mtp arm held.

        The plain arm must be faster beyond ``tolerance`` and the mtp arm proven to have lost no more than that: on a
        machine whose speed drifts that far, nothing is excused.
        """
        return self.plain.interval(LEVEL)[0] > 1 + tolerance and self.mtp.interval(LEVEL)[0] > 1 - tolerance

    def __str__(self) -> str:
        parts = [self._drafts(), self._steps()]
        if self.cause() is Cause.STEP_COST:
            parts.reverse()
        return "; ".join([*parts, _speed("plain arm", self.plain)])

    def _drafts(self) -> str:
        now, then = self.now.tau, self.then.tau
        if now == then and self.difference is None:
            return "acceptance unchanged"
        said = f"tokens per step {now:.2f}, were {then:.2f} ({self.tau - 1:+.1%})"
        return f"{said}, first in {self.difference}" if self.difference else said

    def _steps(self) -> str:
        change = self.cost.change
        if not change.moved(LEVEL):
            return _unmoved("step cost", change)
        said = f"a step costs {abs(change.ratio - 1):.1%} {'more' if change.ratio > 1 else 'less'} {_span(change)}"
        return f"{said} in every class" if self.cost.pooled else said


def _speed(what: str, change: Change) -> str:
    if not change.moved(LEVEL):
        return _unmoved(what, change)
    return f"{what} {abs(change.ratio - 1):.1%} {'faster' if change.ratio > 1 else 'slower'} {_span(change)}"


def _unmoved(what: str, change: Change) -> str:
    """Unchanged, or a change that the noise hides: one is not the other."""
    low, high = (end - 1 for end in change.interval(LEVEL))
    if low > -_LITTLE and high < _LITTLE:
        return f"{what} unchanged"
    if math.isinf(high):
        return f"{what} untold by so few blocks"
    return f"{what} {change.ratio - 1:+.1%} [{low * 100:+.1f}, {high * 100:+.1f}], within the noise"


def _span(change: Change) -> str:
    """The interval of a change in percent, in the direction in which it is told."""
    ends = sorted((abs(end - 1) if change.ratio > 1 else 1 - end) * 100 for end in change.interval(LEVEL))
    return f"[{ends[0]:.1f}, {ends[1]:.1f}]"
