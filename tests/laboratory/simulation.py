"""Campaigns out of a random generator, with the noise that real machines showed, and how rules decide on them.

A block of a real campaign carries three kinds of noise: one that all its classes share (the machine's), one of each
class, and one of each pair of requests. Sessions differ too, and now and then a start is bad or a pair is disturbed.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pytest_mtp.core.decision import Finding, recurring, settled, weigh
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.speedup import Estimate, middle_mean

_MIDDLE_HALF = 1.1
"""Standard error of the mean of the middle half, over that of the mean, for normal pairs with few outliers."""

Pairs = NDArray[np.float64]
"""ln S of single pairs of requests, shape (blocks, classes, pairs)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Standard deviations of ln S; the defaults are a shared two-core virtual machine's, as its gate runs gave them."""

    block: float = 0.014
    """Shared by the classes of one block."""
    kind: float = 0.014
    """Of one class in one block."""
    pair: float = 0.03
    """Of one pair of requests."""
    session: float = 0.0
    """Shared by all blocks of a session."""
    drift: float = 0.0
    """From the first to the last block of a session."""
    outliers: float = 0.01
    """Share of the pairs that a neighbour disturbed, by a fifth either way."""
    bad_start: float = 0.0
    """Chance that one block of a session is slower in the mtp arm by a tenth."""

    def scaled(self, block_sd: float, pairs: int = 11) -> "Noise":
        """The same noise, so that a report would print this block sd: the spread of one class over blocks."""
        within = self.pair * _MIDDLE_HALF / math.sqrt(pairs)
        factor = block_sd / math.sqrt(self.block**2 + self.kind**2 + within**2)
        return replace(self, block=self.block * factor, kind=self.kind * factor, pair=self.pair * factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What is true: the speedups of the classes when the baseline was recorded, and the losses since."""

    speedups: tuple[float, ...] = (1.50, 1.40, 1.30, 1.12, 1.00, 0.62)
    losses: tuple[float, ...] = (0.0,) * 6
    noise: Noise = Noise()
    pairs: int = 11

    def session(self, rng: np.random.Generator, blocks: int, *, lost: bool = True) -> Pairs:
        """One session of measuring; ``lost=False`` is the world of the baseline."""
        losses = np.array(self.losses if lost else (0.0,) * len(self.speedups))
        truth = np.log(self.speedups) + np.log1p(-losses)
        noise, shape = self.noise, (blocks, len(self.speedups), self.pairs)
        common = rng.normal(0, noise.session) + rng.normal(0, noise.block, blocks)
        common = common + noise.drift * (np.arange(blocks) / max(blocks - 1, 1) - 0.5)
        if rng.random() < noise.bad_start:
            common[rng.integers(blocks)] -= 0.1
        values = truth[:, None] + common[:, None, None] + rng.normal(0, noise.kind, shape[:2])[:, :, None]
        values = values + rng.normal(0, noise.pair, shape)
        disturbed = rng.random(shape) < noise.outliers
        return np.asarray(values + disturbed * rng.choice((-0.2, 0.2), shape))


def estimates(pairs: Pairs) -> dict[str, Estimate]:
    """Each class's blocks, as the product estimates them."""
    return {
        f"class{index}": Estimate(tuple(middle_mean(list(block)) for block in pairs[:, index]))
        for index in range(pairs.shape[1])
    }


@dataclass(frozen=True, slots=True)
class Decision:
    """What a rule made of one session."""

    red: frozenset[str]
    green: bool
    blocks: int


def gate(now: Pairs, again: Pairs, limits: Mapping[str, float], demanded: Gate) -> Decision:
    """The product's rule: looks, Holm, and recurrence in fresh starts before red."""
    for look in demanded.looks:
        evidence = weigh(estimates(now[:look]), limits, demanded)
        if settled(evidence):
            break
    below = {name for name, one in evidence.items() if one.finding is Finding.BELOW}
    if not below:
        return Decision(frozenset(), all(one.finding is Finding.ABOVE for one in evidence.values()), look)
    fresh = {name: one for name, one in estimates(again[:look]).items() if name in below}
    red = recurring(fresh, {name: limits[name] for name in below}, demanded)
    return Decision(frozenset(red), green=False, blocks=2 * look)


def limits_of(baseline: Sequence[Pairs], demanded: Gate) -> dict[str, float]:
    """Limits from recorded sessions: one is widened by its own error, three and more are taken at their word."""
    merged = estimates(np.concatenate(list(baseline)))
    widening = 2 / math.sqrt(baseline[0].shape[0]) if len(baseline) < 3 else 0.0
    return {
        name: one.ratio * (1 - min(demanded.tolerance + widening * one.log_sd, 0.99)) for name, one in merged.items()
    }
