"""Which depth of drafts a sweep recommends, and how sure that is.

Settings are held against each other by their speedups: every one of them ran beside a plain arm of its own, of the same
flags, so that the machine's drift is in none of them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from pytest_mtp.core.speedup import Estimate
from pytest_mtp.core.suites.paired import over

_AS_GOOD = 0.95
"""A setting with this share of the fastest one's speedup is as good, if it drafts less and is not proven slower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """The best of the settings that were swept, held against no MTP and against the flag set's own setting."""

    setting: str
    """Such as ``n-max 3, p-min 0``."""
    fastest: str
    """Of the highest speedup; another than ``setting`` where a smaller one is as good."""
    speedups: Mapping[str, Estimate]
    """Of every setting over no MTP, in the order in which they were swept."""
    alpha: float
    """The chance, shared by all of them, that a gain which is called proven is none."""
    own: str | None = None
    """The flag set's own setting; ``None`` where a stored report does not tell it."""
    over_own: Estimate | None = None
    """Of ``setting`` over the flag set's own; ``None`` where they are the same, or the own one is not told."""
    lost: bool = False
    """Whether every setting is proven slower than no MTP."""

    def __str__(self) -> str:
        told = f"{self.setting}, {said(self.gain, self.level)}"
        if not self.drafts:
            return f"no setting gains on this machine: the best is {told}; run without MTP"
        also = "" if self.setting == self.fastest else f"; as good as the fastest, {self.fastest}"
        unproven = "" if self.proven else "; not proven faster than without MTP"
        return f"best here: {told}{also}{unproven}"

    @property
    def gain(self) -> Estimate:
        """Of ``setting`` over no MTP."""
        return self.speedups[self.setting]

    @property
    def settings(self) -> int:
        """How many were tried: so often chance could have made one look best."""
        return len(self.speedups)

    @property
    def drafts(self) -> bool:
        """Whether to draft at all."""
        return self.gain.ratio > 1

    @property
    def level(self) -> float:
        """Two-sided level of the intervals whose lower end decides."""
        return 1 - 2 * self.alpha / self.settings

    @property
    def proven(self) -> bool:
        """Whether drafting is proven to gain, where it is recommended, else proven to lose."""
        return self._proven(self.gain) if self.drafts else self.lost

    @property
    def proven_over_own(self) -> bool:
        """Whether it is proven faster than the flag set's own setting, or is that."""
        return self.setting == self.own or (self.over_own is not None and self._proven(self.over_own))

    def _proven(self, estimate: Estimate) -> bool:
        return estimate.p_above(1) <= self.alpha / self.settings


def recommended(
    speedups: Mapping[str, Estimate], sizes: Mapping[str, int], alpha: float, own: str | None = None
) -> Recommendation:
    """The fastest setting, or the smallest that is as good; ``sizes`` are the most tokens that each drafts."""
    fastest = max(speedups, key=lambda name: speedups[name].log_mean)
    good = [name for name, one in speedups.items() if name == fastest or _as_good(one, speedups[fastest], alpha)]
    best = min(good, key=lambda name: (sizes[name], -speedups[name].log_mean))
    return Recommendation(
        setting=best,
        fastest=fastest,
        speedups=speedups,
        alpha=alpha,
        own=own if own in speedups else None,
        over_own=None if own is None or own == best or own not in speedups else over(speedups[best], speedups[own]),
        lost=all(one.p_below(1) <= alpha for one in speedups.values()),
    )


def said(estimate: Estimate, level: float) -> str:
    """A ratio with its interval; without one where a single block stands behind it."""
    low, high = estimate.interval(level)
    return f"{estimate.ratio:.2f}x [{low:.2f}, {high:.2f}]" if math.isfinite(high) else f"{estimate.ratio:.2f}x"


def _as_good(one: Estimate, fastest: Estimate, alpha: float) -> bool:
    change = over(one, fastest)
    loses = one.ratio <= 1 < fastest.ratio
    return change.ratio >= _AS_GOOD and change.p_below(1) > alpha and not loses
