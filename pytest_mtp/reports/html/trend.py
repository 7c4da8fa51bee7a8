"""Small multiples of the history: one drawing per class and quantity, cut where the circumstances changed."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import groupby, pairwise

from pytest_mtp.core.history import Metric, Point, Series, changed_facts
from pytest_mtp.core.history_verdict import HistoryVerdict, LevelChange, Surprise
from pytest_mtp.reports.html.axis import Axis, digits, spanning
from pytest_mtp.reports.html.numeral import change, level, measured

TALL = 110.0
"""Pixels of a drawing."""
NEWEST = 30
"""Runs that are dots of their own, and rows of the table before it is unfolded."""
_MOST_BOUNDARIES = 8
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Dot:
    """A run: percent of the width, pixels of the height."""

    x: float
    y: float
    run: str
    title: str


@dataclass(frozen=True, slots=True)
class Boundary:
    """From here on more than the build is another."""

    x: float
    letter: str
    date: str
    changed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A change point: a sign at the first run of the new level, and both levels as lines."""

    x: float
    loss: bool
    acknowledged: bool
    title: str
    levels: tuple[tuple[float, float, float], ...]
    """From x, to x, at y."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Where the newest run should have been."""

    x: float
    top: float
    bottom: float
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """One series."""

    metric: Metric
    stretches: tuple[str, ...]
    """Points of a polyline; x from 0 to 1000."""
    dots: tuple[Dot, ...]
    boundaries: tuple[Boundary, ...]
    steps: tuple[Step, ...]
    expected: Expected | None
    y_ticks: tuple[tuple[float, str], ...]
    x_ticks: tuple[tuple[float, str], ...]
    summary: str
    walk: tuple[Dot, ...]
    """Every run."""


def drawing(series: Series, verdict: HistoryVerdict | None) -> Drawing:
    """The drawing of one series that has points."""
    points, metric = series.points, series.metric
    places = _places(points)
    steps = [one for one in (verdict.changes if verdict else ()) if one.key == series.key]
    surprise = next((one for one in (verdict.surprises if verdict else ()) if one.key == series.key), None)
    axis = _axis(points, steps, surprise)
    ticks = axis.ticks(4)
    walk = tuple(
        Dot(x, _down(axis, point.value.value), point.run, _said(metric, point))
        for x, point in zip(places, points, strict=True)
    )
    at = {point.run: x for x, point in zip(places, points, strict=True)}
    boundaries = tuple(_boundaries(points, places))
    changes = tuple(_steps(steps, at, boundaries, axis, metric))
    return Drawing(
        metric=metric,
        stretches=tuple(_stretches(points, walk)),
        dots=walk[-NEWEST:],
        boundaries=boundaries,
        steps=changes,
        expected=_expected(surprise, at, axis, metric),
        y_ticks=tuple((_down(axis, tick), _tick(metric, tick, ticks)) for tick in ticks),
        x_ticks=tuple(_dates(points, places)),
        summary=_summary(points, metric, boundaries, changes),
        walk=walk,
    )


def _said(metric: Metric, point: Point) -> str:
    return f"{point.at[:10]} · {point.build} · {measured(metric, point.value)}"


def _summary(points: Sequence[Point], metric: Metric, boundaries: Sequence[Boundary], steps: Sequence[Step]) -> str:
    first, last = points[0], points[-1]
    said = [f"{len(points)} runs from {first.at[:10]} to {last.at[:10]}", f"newest {measured(metric, last.value)}"]
    said += [f"{one.date}: {one.changed}" for one in boundaries]
    return "; ".join([*said, *(step.title for step in steps)])


@lru_cache(maxsize=8192)
def _time_s(at: str) -> float | None:
    try:
        told = datetime.fromisoformat(at)
    except ValueError:
        return None
    return (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()


def _places(points: Sequence[Point]) -> list[float]:
    """Percent of the width, by time; one after the other where a time cannot be read."""
    times = [_time_s(point.at) for point in points]
    told = [one for one in times if one is not None]
    if len(told) < len(times) or min(told) == max(told):
        axis, told = Axis(-0.5, len(points) - 0.5), [float(index) for index in range(len(points))]
    else:
        room = (max(told) - min(told)) * 0.015
        axis = Axis(min(told) - room, max(told) + room)
    return [axis.percent(one) for one in told]


def _axis(points: Sequence[Point], steps: Sequence[LevelChange], surprise: Surprise | None) -> Axis:
    levels = [value for one in steps for value in (one.before, one.after)]
    expected = [surprise.low, surprise.high] if surprise else []
    return spanning([*(point.value.value for point in points), *levels, *expected], room=0.12)


def _down(axis: Axis, value: float) -> float:
    return round(TALL * (1 - axis.percent(value) / 100), 1)


def _tick(metric: Metric, tick: float, ticks: tuple[float, ...]) -> str:
    return level(metric, tick) if metric is Metric.MEMORY else f"{tick:.{digits(ticks)}f}"


def _dates(points: Sequence[Point], places: Sequence[float]) -> Iterator[tuple[float, str]]:
    """The days of the first, the middle and the last run; of few runs fewer."""
    for index in sorted({0, len(points) // 2, len(points) - 1}):
        yield places[index], points[index].at[:10]


def _stretches(points: Sequence[Point], walk: Sequence[Dot]) -> Iterator[str]:
    """A line for every stretch of equal circumstances; where machines take turns, one for each of them."""
    pairs = [(point.segment, f"{dot.x * 10:g},{dot.y:g}") for point, dot in zip(points, walk, strict=True)]
    if len(_turns(points)) > _MOST_BOUNDARIES:
        pairs.sort(key=lambda one: one[0])
    for _, group in groupby(pairs, key=lambda one: one[0]):
        yield " ".join(place for _, place in group)


def _turns(points: Sequence[Point]) -> list[int]:
    """Where a run was measured under other circumstances than the one before it."""
    return [index for index, (then, now) in enumerate(pairwise(points), start=1) if then.segment != now.segment]


def _boundaries(points: Sequence[Point], places: Sequence[float]) -> Iterator[Boundary]:
    """Where circumstances changed; where they change to and fro, only where they are new."""
    turns = _turns(points)
    if len(turns) > _MOST_BOUNDARIES:
        first = {point.segment: index for index, point in reversed(list(enumerate(points)))}
        turns = sorted(index for index in first.values() if index)[-_MOST_BOUNDARIES:]
    for letter, index in zip(_LETTERS, turns, strict=False):
        then, now = points[index - 1], points[index]
        between = round((places[index - 1] + places[index]) / 2, 2)
        yield Boundary(between, letter, now.at[:10], changed_facts(then, now) or "other circumstances")


def _steps(
    changes: Iterable[LevelChange], at: dict[str, float], boundaries: Sequence[Boundary], axis: Axis, metric: Metric
) -> Iterator[Step]:
    known = sorted((one for one in changes if one.run in at), key=lambda one: at[one.run])
    cuts = sorted([0.0, 100.0, *(at[one.run] for one in known), *(one.x for one in boundaries)])
    for one in known:
        x = at[one.run]
        left = max(cut for cut in cuts if cut < x) if x else 0.0
        right = min((cut for cut in cuts if cut > x), default=100.0)
        yield Step(
            x=x,
            loss=one.loss,
            acknowledged=one.acknowledged is not None,
            title=told_change(one, metric),
            levels=((left, x, _down(axis, one.before)), (x, right, _down(axis, one.after))),
        )


def told_change(one: LevelChange, metric: Metric) -> str:
    """A change point as a sentence without its full stop."""
    said = (
        f"{one.at[:10]} · {one.build}: {metric.value} {level(metric, one.before)} to {level(metric, one.after)} "
        f"({change(one.after / one.before)}, p {one.p:.2g}), {'a loss' if one.loss else 'no loss'}"
    )
    if one.acknowledged is None:
        return said
    return f"{said}; acknowledged by {one.acknowledged.who}: {one.acknowledged.reason}"


def _expected(one: Surprise | None, at: dict[str, float], axis: Axis, metric: Metric) -> Expected | None:
    if one is None or one.run not in at:
        return None
    again = ", as the run before it" if one.recurs else ""
    said = (
        f"{one.at[:10]} · {one.build}: {level(metric, one.value)}, expected {level(metric, one.low)} to "
        f"{level(metric, one.high)} by its level of {level(metric, one.mean)}{again}"
    )
    return Expected(at[one.run], _down(axis, one.high), _down(axis, one.low), said)
