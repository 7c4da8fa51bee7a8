"""What the runs of a series under the same circumstances say: its levels, and where one more run should lie.

A trail is a segment of a series up to the run that is judged. Acknowledgements cut it: what somebody
looked at is the level from then on, also where no change point is found any more.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean, stdev

from pytest_mtp.core.change_point import SMALLEST_CHANGE, ChangePoint, levels
from pytest_mtp.core.history import Key, Metric, Point
from pytest_mtp.core.history_verdict import Acknowledgement, LevelChange, Surprise

_FEWEST_BEFORE = 8
"""Runs of a level that tell where the next one should lie."""

_LONGEST_LEVEL = 64
"""Runs of it that count: a slow drift of the machine must not widen the interval for ever."""

_LONGEST_STREAK = 6
"""Surprises in a row that stay one; by then the change of level is found."""

_NEAR = 5
"""Runs that a change point moves, at most, while later runs come in; it stays the one acknowledged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """The points of a series under the same circumstances, oldest first."""

    key: Key
    points: tuple[Point, ...]
    changes: tuple[LevelChange, ...]
    starts: tuple[int, ...]
    """Index of the first point of each change."""
    odd: frozenset[int]
    """Indices of runs that are of no level."""
    reviewed: int
    """Index of the newest point that an acknowledgement made a level of; 0: none."""

    @property
    def level_start(self) -> int:
        """Index of the first point of the current level."""
        return max((self.reviewed, *self.starts))

    @property
    def standing(self) -> tuple[LevelChange, ...]:
        """Losses that nobody acknowledged and that later changes did not make good."""
        return tuple(
            change
            for start, change in zip(self.starts, self.changes, strict=True)
            if change.loss and start > self.reviewed and _is_loss(self.key, change.before, self.changes[-1].after)
        )

    def streak(self, tail: float) -> int:
        """How many of the newest values are all on the same side outside of where those before them put one more.

        ``tail`` is the share of values that is beyond either end by chance. 0: the newest value is no surprise.
        """
        return next((count for count in range(_LONGEST_STREAK, 0, -1) if self._outside(count, tail)), 0)

    def surprise(self, tail: float) -> Surprise | None:
        """What is odd about the newest value; ``None``: nothing."""
        count = self.streak(tail)
        if not count:
            return None
        level, newest = self._level_before(count), self.points[-1]
        low, high = prediction_interval(level, tail)
        return Surprise(
            key=self.key,
            run=newest.run,
            at=newest.at,
            build=newest.build,
            value=newest.value.value,
            low=low,
            high=high,
            mean=fmean(level),
            loss=_is_worse(self.key, fmean(level), newest.value.value),
            recurs=count > 1,
        )

    def _outside(self, count: int, tail: float) -> bool:
        level = self._level_before(count)
        if len(level) < _FEWEST_BEFORE:
            return False
        low, high = prediction_interval(level, tail)
        newest = [point.value.value for point in self.points[-count:]]
        return max(newest) < low or min(newest) > high

    def _level_before(self, count: int) -> tuple[float, ...]:
        """The current level without its newest values: surprises in it would widen the interval and hide the next."""
        indices = range(self.level_start, len(self.points) - count)
        values = [self.points[index].value.value for index in indices if index not in self.odd]
        return tuple(values[-_LONGEST_LEVEL:])


def trail(key: Key, points: Sequence[Point], p: float, acknowledged: Iterable[Acknowledgement] = ()) -> Trail:
    """The trail of points under the same circumstances; a change of level needs a p below ``p``."""
    cut = levels([point.value.value for point in points], p)
    found = cut.changes
    looked_at = _indices(key, points, acknowledged)
    known = _known([one.index for one in found], looked_at)
    return Trail(
        key=key,
        points=tuple(points),
        changes=tuple(_level_change(key, points, one, found, known.get(one.index)) for one in found),
        odd=cut.odd,
        starts=tuple(one.index for one in found),
        reviewed=max((0, *looked_at, *known)),
    )


def prediction_interval(level: Sequence[float], tail: float) -> tuple[float, float]:
    """Where one more value of a level should lie; a share ``tail`` of them is beyond either end by chance.

    Never closer to the mean than the smallest change worth a word: a constant level has no spread.
    """
    from scipy.special import stdtrit  # the quantile of t, a hundred times as fast as that of scipy.stats

    n, mean = len(level), fmean(level)
    spread = float(stdtrit(n - 1, 1 - tail)) * stdev(level) * math.sqrt(1 + 1 / n)
    half = max(spread, SMALLEST_CHANGE * mean)
    return mean - half, mean + half


def names(pattern: str, key: Key) -> bool:
    """Whether an acknowledgement's ``series`` is this key: written out, or with ``*`` for whole parts."""
    parts = [part for part in (key.profile, key.flag_set, key.prompt_class, key.metric) if part]
    return pattern in {"/".join(spelled) for spelled in product(*((part, "*") for part in parts))}


def _indices(key: Key, points: Sequence[Point], acknowledged: Iterable[Acknowledgement]) -> dict[int, Acknowledgement]:
    """The acknowledged points of this trail, by index."""
    at = {point.run: index for index, point in enumerate(points)}
    return {at[one.run]: one for one in acknowledged if one.run in at and names(one.series, key)}


def _known(changes: Sequence[int], looked_at: dict[int, Acknowledgement]) -> dict[int, Acknowledgement]:
    """The change that each acknowledgement means: the nearest, and no two mean the same one."""
    near = sorted((abs(change - at), at, change) for at in looked_at for change in changes if abs(change - at) <= _NEAR)
    known: dict[int, Acknowledgement] = {}
    for _, at, change in near:
        if change not in known and looked_at[at] not in known.values():
            known[change] = looked_at[at]
    return known


def _level_change(
    key: Key,
    points: Sequence[Point],
    one: ChangePoint,
    found: Sequence[ChangePoint],
    acknowledged: Acknowledgement | None,
) -> LevelChange:
    first, last = points[one.index], points[one.last]
    end = min((other.index for other in found if other.index > one.index), default=len(points))
    return LevelChange(
        key=key,
        run=first.run,
        at=first.at,
        build=first.build,
        last_run=last.run,
        last_build=last.build,
        before=one.before,
        after=one.after,
        p=one.p,
        runs_after=end - one.index,
        loss=_is_worse(key, one.before, one.after),
        acknowledged=acknowledged,
    )


def _is_worse(key: Key, before: float, after: float) -> bool:
    return after > before if Metric(key.metric).more_is_worse else after < before


def _is_loss(key: Key, before: float, after: float) -> bool:
    """Whether it is worse by more than the smallest change that is worth a word."""
    return _is_worse(key, before, after) and abs(after / before - 1) > SMALLEST_CHANGE
