"""Estimate the speedup, and each arm's speed, from blocks.

Inside a block the n-th request of one arm ran next to the n-th of the other, so the machine's
drift divides out of each pair's ratio; the mean of the middle half of the pairs forgets those
that a neighbour disturbed, and spreads less than their median. Over blocks the logs of these
ratios are averaged, with Student's t.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from pytest_mtp.core.sample import Block, Campaign, Start
from pytest_mtp.core.server_spec import Arm

FEWEST_BLOCKS = 2
"""Below this there is no spread, so no interval."""


_ROUNDING = 1e-9
"""A spread of logs below this is that of arithmetic."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Logs of a positive quantity, one per block; ``ratio`` is their geometric mean."""

    logs: tuple[float, ...]

    @property
    def blocks(self) -> int:
        """How many blocks stand behind it."""
        return len(self.logs)

    @property
    def log_mean(self) -> float:
        """Mean of the logs; nan without blocks."""
        return fmean(self.logs) if self.logs else math.nan

    @property
    def ratio(self) -> float:
        """The quantity itself: exp of the mean log; nan without blocks."""
        return math.exp(self.log_mean)

    @property
    def log_sd(self) -> float:
        """Sample standard deviation of the logs, about the relative spread of a block; nan below two."""
        return math.nan if len(self.logs) < FEWEST_BLOCKS else stdev(self.logs)

    def interval(self, level: float) -> tuple[float, float]:
        """Two-sided t interval of the ratio at ``level`` (a share such as 0.95); unbounded below two blocks."""
        if len(self.logs) < FEWEST_BLOCKS:
            return 0.0, math.inf
        from scipy.stats import t

        half = float(t.ppf((1 + level) / 2, len(self.logs) - 1)) * self.log_sd / math.sqrt(len(self.logs))
        return math.exp(self.log_mean - half), math.exp(self.log_mean + half)

    def p_below(self, limit: float) -> float:
        """One-sided p: how surprising these blocks are if the truth were at or above ``limit``."""
        return self._p(limit, "less")

    def p_above(self, limit: float) -> float:
        """One-sided p: how surprising these blocks are if the truth were at or below ``limit``."""
        return self._p(limit, "greater")

    def _p(self, limit: float, alternative: str) -> float:
        if len(self.logs) < FEWEST_BLOCKS:
            return 1.0
        if self.log_sd < _ROUNDING:
            # Identical blocks, as counts give them: scipy would divide by next to nothing and warn.
            beyond = self.log_mean < math.log(limit) if alternative == "less" else self.log_mean > math.log(limit)
            return 0.0 if beyond else 1.0
        from scipy.stats import ttest_1samp

        return float(ttest_1samp(self.logs, math.log(limit), alternative=alternative).pvalue)


_QUARTERS = 4


def block_log_ratio(block: Block, prompt_class: str) -> float:
    """ln(plain ms / mtp ms) of one block: the interquartile mean over its pairs."""
    return _log_ratio(block.start(Arm.PLAIN), block.start(Arm.MTP), prompt_class)


def _log_ratio(slow: Start, fast: Start, prompt_class: str) -> float:
    """How much faster one start answered than another of its block, as a log, from pairs of neighbouring requests."""
    pairs = zip(slow.of(prompt_class), fast.of(prompt_class), strict=True)
    return middle_mean([math.log(s.timings.ms_per_token / f.timings.ms_per_token) for s, f in pairs])


def faster(head: Campaign, base: Campaign, arm: Arm, prompt_class: str) -> Estimate:
    """How much faster an arm of ``head`` is than that of ``base``, both measured in the same blocks."""
    blocks = zip(base.valid, head.valid, strict=True)
    return Estimate(tuple(_log_ratio(old.start(arm), new.start(arm), prompt_class) for old, new in blocks))


def middle_mean(values: Sequence[float]) -> float:
    """The mean without the lowest and highest quarter, of three values the middle one, of two both."""
    cut = max(len(values) // 4, (len(values) - 1) // 2 if len(values) < _QUARTERS else 0)
    return fmean(sorted(values)[cut : len(values) - cut])


def speedup(campaign: Campaign, prompt_class: str) -> Estimate:
    """The speedup S of one class: time per token plain over mtp."""
    return Estimate(tuple(block_log_ratio(block, prompt_class) for block in campaign.valid))


def throughput(campaign: Campaign, arm: Arm, prompt_class: str) -> Estimate:
    """Tokens per second of one arm, (n-1) / T: the middle half of the requests of each block."""
    return Estimate(
        tuple(
            middle_mean([math.log(sample.timings.tps) for sample in block.start(arm).of(prompt_class)])
            for block in campaign.valid
        )
    )
