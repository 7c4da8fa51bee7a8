"""Tokens per step against the cost of a step: where S = tau / c comes from, and which of the two moved."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_mtp.core.cause import LEVEL
from pytest_mtp.core.factors import Factors, factors_of
from pytest_mtp.core.run_report import Judged
from pytest_mtp.core.verdict import ClassResult
from pytest_mtp.reports.html.axis import Axis, digits, spanning
from pytest_mtp.reports.html.mark import Mark, mark_of
from pytest_mtp.reports.html.numeral import number, span, times

_SPEEDUPS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0)
_NEAR = 6.0
"""Percent of the chart: a label closer than this to another dot goes to the other side."""
_SHORTEST = 0.08
"""Share of the width: a shorter line in a corner tells nothing."""
_CROSSES = 1.1
"""How far, at least, the break-even runs inside the chart."""
_Ticks = tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One class on the chart; percent of its width and, from the top, of its height."""

    number: int
    name: str
    mark: Mark
    x: float
    y: float
    left: float
    right: float
    """Ends of the step cost's interval."""
    then: tuple[float, float] | None
    """Where it was: of the baseline, or of the base."""
    label_left: bool
    cells: tuple[str, ...]
    """Its row of the table: tau, step cost, its interval, speedup; where it was, the same three once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedupLine:
    """All places with one speedup."""

    x1: float
    y1: float
    x2: float
    y2: float
    label: str
    even: bool
    """Whether it is the break-even, S = 1."""
    at_top: bool
    """Whether it leaves the chart at its top, not at its right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """What the template draws."""

    places: tuple[Place, ...]
    lines: tuple[SpeedupLine, ...]
    x_ticks: _Ticks
    y_ticks: _Ticks
    before: str | None
    """What ``then`` is: baseline, base; ``None`` where nothing was before."""
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Point:
    result: ClassResult
    factors: Factors
    tau_then: float | None
    cost_then: float | None

    @property
    def tau(self) -> float:
        return self.factors.tau

    @property
    def cost(self) -> float:
        return self.factors.step_cost.ratio

    @property
    def ends(self) -> tuple[float, float]:
        return self.factors.step_cost.interval(LEVEL)


def chart(judged: Judged) -> Chart | None:
    """The chart of a campaign; ``None`` where nothing was measured."""
    points = tuple(_points(judged))
    if not points:
        return None
    costs = [cost for one in points for cost in (one.cost, *_inside(one), one.cost_then) if cost is not None]
    taus = _with_even([tau for one in points for tau in (one.tau, one.tau_then) if tau is not None], costs)
    x, y = spanning(costs, log=True, room=0.1), spanning(taus, log=True, room=0.1)
    x_ticks, y_ticks = x.ticks(), y.ticks()
    before = "base" if judged.compared else "baseline"
    return Chart(
        places=tuple(_place(number, one, points, x, y) for number, one in enumerate(points, start=1)),
        lines=tuple(line for speedup in _SPEEDUPS if (line := _line(speedup, x, y)) is not None),
        x_ticks=tuple((x.percent(tick), f"{tick:.{digits(x_ticks)}f}") for tick in x_ticks),
        y_ticks=tuple((_down(y, tick), f"{tick:.{digits(y_ticks)}f}") for tick in y_ticks),
        before=before if any(one.cost_then is not None for one in points) else None,
        summary="; ".join(
            f"{one.result.prompt_class}: {one.tau:.2f} tokens per step at a cost of {one.cost:.2f} plain steps"
            for one in points
        ),
    )


def _points(judged: Judged) -> Iterator[_Point]:
    found = factors_of(judged.campaign, judged.campaign.classes)
    for result in judged.results:
        factors = found.get(result.prompt_class)
        if factors is None or not factors.step_cost.blocks:
            continue
        tau_then, cost_then = result.tau_then, None
        if result.against is not None:
            cost_then = result.against.step_cost
        elif tau_then is not None and result.limit is not None and result.limit.baseline is not None:
            cost_then = tau_then / result.limit.baseline
        yield _Point(result=result, factors=factors, tau_then=tau_then if cost_then else None, cost_then=cost_then)


def _inside(point: _Point) -> tuple[float, ...]:
    """The ends of an interval that may widen the chart: two blocks know no bounds."""
    return tuple(end for end in point.ends if point.cost / 1.5 <= end <= point.cost * 1.5)


def _with_even(taus: list[float], costs: list[float]) -> list[float]:
    """The taus, and one more where the break-even, tau = c, would not cross the chart without it."""
    if min(taus) > max(costs) / _CROSSES:
        return [*taus, max(costs) / _CROSSES]
    return [*taus, min(costs) * _CROSSES] if max(taus) < min(costs) * _CROSSES else taus


def _down(axis: Axis, value: float) -> float:
    return round(100 - axis.percent(value), 2)


def _place(number_: int, one: _Point, points: tuple[_Point, ...], x: Axis, y: Axis) -> Place:
    at, down = x.percent(one.cost), _down(y, one.tau)
    low, high = one.ends
    then = None
    if one.tau_then is not None and one.cost_then is not None:
        then = (x.percent(one.cost_then), _down(y, one.tau_then))
    crowded = any(
        0 <= x.percent(other.cost) - at < _NEAR and abs(_down(y, other.tau) - down) < _NEAR
        for other in points
        if other is not one
    )
    return Place(
        number=number_,
        name=one.result.prompt_class,
        mark=mark_of(one.result.speed),
        x=at,
        y=down,
        left=x.percent(low) if low > 0 else 0.0,
        right=x.percent(high),
        then=then,
        label_left=crowded,
        cells=tuple(_cells(one)),
    )


def _cells(one: _Point) -> Iterator[str]:
    yield from (number(one.tau), number(one.cost), span(*one.ends), times(one.tau / one.cost))
    if one.tau_then is not None and one.cost_then is not None:
        yield from (number(one.tau_then), number(one.cost_then), times(one.tau_then / one.cost_then))


def _line(speedup: float, x: Axis, y: Axis) -> SpeedupLine | None:
    """Where tau = S c inside the chart, straight as both axes are logarithmic; ``None`` where it hardly crosses it."""
    low, high = max(x.low, y.low / speedup), min(x.high, y.high / speedup)
    if math.log(high / low if high > low else 1.0) < math.log(x.high / x.low) * _SHORTEST:
        return None
    even = speedup == 1
    return SpeedupLine(
        x1=x.percent(low),
        y1=_down(y, speedup * low),
        x2=x.percent(high),
        y2=_down(y, speedup * high),
        label="S = 1" if even else f"{speedup:g}x",
        even=even,
        at_top=high < x.high,
    )
