"""Where does the level of a sequence of values change? Otava answers (E-divisive, then t-tests)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from pytest_mtp.errors import MtpError

FEWEST_POINTS = 10
"""With fewer, Otava's p says little."""

SMALLEST_CHANGE = 0.02
"""As a share of the level: less is not worth a word, even where there is no noise at all."""

_WINDOW = 50

_SD_OF_STEP = 1 / (0.6745 * math.sqrt(2))
"""Of normal noise, over the median step from one value to the next."""

_FAR = 5
"""Standard deviations; noise alone is as far from both of its neighbours in one night of eighty thousand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """The sequence is at another level from ``index`` on."""

    index: int
    last: int
    """Index of the last value of the old level."""
    before: float
    after: float
    """Mean of each level, up to the next change."""
    p: float


@dataclass(frozen=True, slots=True)
class Levels:
    """A sequence of values, cut where its level changes."""

    changes: tuple[ChangePoint, ...]
    """The first first."""
    odd: frozenset[int]
    """Indices of single values that are of no level: one bad night is none."""


def levels(values: Sequence[float], p: float) -> Levels:
    """The levels of a sequence of positive values; a change needs a p below ``p``, a level at least two values.

    MtpError where Otava is not installed.
    """
    compute = otava()
    spikes = _spikes(values)
    kept = [index for index in range(len(values)) if index not in spikes]
    while len(kept) >= FEWEST_POINTS:
        # A list, since an array fails once it is longer than half a window.
        told = [values[index] for index in kept]
        found, _ = compute(told, window_len=_WINDOW, max_pvalue=p, min_magnitude=SMALLEST_CHANGE)
        edges = pairwise([0, *(int(one.index) for one in found), len(kept)])
        alone = {kept[start] for start, end in edges if end - start == 1}
        if not alone:
            return Levels(
                tuple(_change_point(one, kept) for one in found), frozenset(range(len(values))) - frozenset(kept)
            )
        kept = [index for index in kept if index not in alone]
    return Levels((), frozenset(range(len(values))) - frozenset(kept))


def otava() -> Callable[..., Any]:
    """``compute_change_points`` of Otava, or an MtpError that says how to get it."""
    try:
        from otava.analysis import compute_change_points
    except ImportError as error:
        raise MtpError(
            f"What judges a history, Apache Otava, is not there ({error}): pip install 'pytest-mtp[nightly]'."
        ) from error
    return compute_change_points  # type: ignore[no-any-return, unused-ignore]


def _spikes(values: Sequence[float]) -> frozenset[int]:
    """Single values far from both of their neighbours, on the same side.

    Left in, one such night would pass for a level of two with the night after it, and widen what
    is taken for noise so much that a real loss hides in it for weeks.
    """
    steps = [abs(after - before) for before, after in pairwise(values)]
    far = _FAR * _SD_OF_STEP * median(steps) if steps else 0.0
    return frozenset(
        index
        for index, (before, value, after) in enumerate(zip(values, values[1:], values[2:], strict=False), start=1)
        if (value - before) * (value - after) > 0 and min(abs(value - before), abs(value - after)) > far
    )


def _change_point(one: Any, kept: Sequence[int]) -> ChangePoint:
    """Plain numbers instead of numpy's, which no JSON takes."""
    index, stats = int(one.index), one.stats
    return ChangePoint(
        index=kept[index],
        last=kept[index - 1],
        before=float(stats.mean_1),
        after=float(stats.mean_2),
        p=float(stats.pvalue),
    )
