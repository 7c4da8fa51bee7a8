"""How a positive quantity changed between two campaigns, with the interval that both leave it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from pytest_mtp.core.speedup import FEWEST_BLOCKS, Estimate


@dataclass(frozen=True, slots=True)
class Change:
    """Now over then; both are measured, so both spreads count (Welch's t on the logs of blocks)."""

    then: Estimate
    now: Estimate
    paired: Estimate | None = None
    """Now over then in each block, where both were measured in the same ones: what they share falls out of it."""

    @classmethod
    def in_blocks(cls, then: Estimate, now: Estimate) -> "Change":
        """The change between two sides of the same blocks."""
        return cls(then, now, Estimate(tuple(new - old for new, old in zip(now.logs, then.logs, strict=True))))

    @property
    def ratio(self) -> float:
        """Now over then; 1 is no change."""
        if self.paired is not None:
            return self.paired.ratio
        return math.exp(self.now.log_mean - self.then.log_mean)

    @property
    def error(self) -> float:
        """Standard error of the log ratio; nan where one side has fewer than two blocks."""
        return math.hypot(
            *(one.log_sd / math.sqrt(one.blocks) if one.blocks else math.nan for one in (self.then, self.now))
        )

    def interval(self, level: float) -> tuple[float, float]:
        """Two-sided interval of the ratio at ``level``; unbounded where a side has fewer than two blocks."""
        if self.paired is not None:
            return self.paired.interval(level)
        if min(self.then.blocks, self.now.blocks) < FEWEST_BLOCKS:
            return 0.0, math.inf
        if self.error == 0:
            return self.ratio, self.ratio
        from scipy.stats import t

        half = float(t.ppf((1 + level) / 2, self._degrees)) * self.error
        return self.ratio * math.exp(-half), self.ratio * math.exp(half)

    def moved(self, level: float) -> bool:
        """Whether the interval leaves no change out."""
        low, high = self.interval(level)
        return not low <= 1 <= high

    def p_below(self, limit: float) -> float:
        """One-sided p: how surprising this change is if the truth were at or above ``limit`` (a ratio)."""
        return self._p(limit, 1) if self.paired is None else self.paired.p_below(limit)

    def p_above(self, limit: float) -> float:
        """One-sided p: how surprising this change is if the truth were at or below ``limit`` (a ratio)."""
        return self._p(limit, -1) if self.paired is None else self.paired.p_above(limit)

    def _p(self, limit: float, sign: int) -> float:
        if min(self.then.blocks, self.now.blocks) < FEWEST_BLOCKS:
            return 1.0  # nothing can be rejected
        beyond = sign * (math.log(self.ratio) - math.log(limit))
        if self.error == 0:
            return 0.0 if beyond < 0 else 1.0
        from scipy.stats import t

        return float(t.cdf(beyond / self.error, self._degrees))

    @property
    def _degrees(self) -> float:
        """Welch-Satterthwaite degrees of freedom."""
        parts = [(one.log_sd**2 / one.blocks, one.blocks - 1) for one in (self.then, self.now)]
        return sum(variance for variance, _ in parts) ** 2 / sum(variance**2 / free for variance, free in parts)


def pooled(estimates: Sequence[Estimate]) -> Estimate:
    """The geometric mean over the classes, block by block: what all classes of a block share stays one number."""
    return Estimate(tuple(fmean(logs) for logs in zip(*(one.logs for one in estimates), strict=True)))


def pooled_change(changes: Sequence[Change]) -> Change:
    """The change of all classes together."""
    pairs = [one.paired for one in changes if one.paired is not None]
    return Change(
        pooled([one.then for one in changes]),
        pooled([one.now for one in changes]),
        pooled(pairs) if len(pairs) == len(changes) else None,
    )


def homogeneous(changes: Sequence[Change], alpha: float = 0.05) -> bool:
    """Whether the classes' changes may be one change: F test of classes against what is left within them.

    The test is on both campaigns' blocks with their common part taken out: a block that is slow is slow for
    all classes, and only what is left of it tells classes apart. One class, or too few blocks, is homogeneous.
    """
    fewest = min((min(one.then.blocks, one.now.blocks) for one in changes), default=0)
    if len(changes) <= 1 or fewest < FEWEST_BLOCKS:
        return True
    from scipy.stats import f

    count = len(changes)
    sides = ("then", "now") if changes[0].paired is None else ("paired",)
    left = [_interaction([getattr(one, side).logs for one in changes]) for side in sides]
    blocks = [getattr(changes[0], side).blocks for side in sides]
    free = (count - 1) * (sum(blocks) - len(blocks))
    variance = sum(left) / free
    center = fmean(math.log(one.ratio) for one in changes)
    between = sum((math.log(one.ratio) - center) ** 2 for one in changes) / (count - 1)
    if variance == 0:
        return between == 0
    statistic = between / (variance * sum(1 / one for one in blocks))
    return float(f.sf(statistic, count - 1, free)) >= alpha


def _interaction(rows: Sequence[Sequence[float]]) -> float:
    """Sum of squares that neither the class (a row) nor the block (a column) explains."""
    row_means = [fmean(row) for row in rows]
    column_means = [fmean(column) for column in zip(*rows, strict=True)]
    grand = fmean(row_means)
    return sum(
        (value - row_mean - column_mean + grand) ** 2
        for row, row_mean in zip(rows, row_means, strict=True)
        for value, column_mean in zip(row, column_means, strict=True)
    )
