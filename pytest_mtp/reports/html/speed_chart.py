"""Dots and whiskers: every class with the interval that decided, against its limit, baseline and floor."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pytest_mtp.core.run_report import Judged
from pytest_mtp.core.verdict import ClassResult
from pytest_mtp.reports.html.axis import Axis, digits, spanning
from pytest_mtp.reports.html.mark import Mark, mark_of
from pytest_mtp.reports.html.numeral import change, change_span, span, times

_WIDEST = 1.5
"""A whisker is cut where it leaves the dots and limits by this factor of their range: two blocks know no bounds."""
_EVEN = 1.0
"""Both arms, or head and base, equally fast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One class; places are percent of the width."""

    name: str
    mark: Mark
    said: str
    at: float
    left: float
    right: float
    cut: bool
    """Whether the whisker goes on beyond the chart."""
    limit: float | None
    baseline: float | None
    floor: float | None
    reference: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """What the template draws."""

    rows: tuple[Row, ...]
    ticks: tuple[tuple[float, str], ...]
    even: float | None
    """Where arms, or head and base, are equally fast."""
    legend: tuple[tuple[str, str], ...]
    """Class of the sign, and what it says."""
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Values:
    """A row before it is drawn."""

    result: ClassResult
    said: str
    at: float
    low: float
    high: float
    limit: float | None = None
    baseline: float | None = None
    floor: float | None = None
    reference: tuple[float, float] | None = None

    @property
    def marks(self) -> tuple[float, ...]:
        told = (self.at, self.limit, self.baseline, self.floor, *(self.reference or ()))
        return tuple(one for one in told if one is not None and math.isfinite(one))


def chart(judged: Judged) -> Chart | None:
    """The chart of a campaign, or of a head against its base; ``None`` where no class was measured."""
    if judged.compared is not None:
        rows = tuple(_compared(judged.results, 1 - judged.compared.rule.margin))
        return _chart(rows, compared=True) if rows else None
    rows = tuple(_measured(judged))
    return _chart(rows, compared=False) if rows else None


def _compared(results: Iterable[ClassResult], limit: float) -> Iterator[_Values]:
    for one in results:
        if (against := one.against) is not None:
            said = f"{change(against.mtp)} {change_span(against.low, against.high)}"
            yield _Values(result=one, said=said, at=against.mtp, low=against.low, high=against.high, limit=limit)


def _measured(judged: Judged) -> Iterator[_Values]:
    for one in judged.results:
        if one.speedup is None or one.low is None or one.high is None or not math.isfinite(one.speedup):
            continue
        published = judged.references.get(one.prompt_class)
        yield _Values(
            result=one,
            said=f"{times(one.speedup)} {span(one.low, one.high)}",
            at=one.speedup,
            low=one.low,
            high=one.high,
            limit=one.limit.speedup if one.limit else None,
            baseline=one.limit.baseline if one.limit else None,
            floor=judged.floors.get(one.prompt_class),
            reference=(published.low, published.high) if published else None,
        )


def _chart(rows: tuple[_Values, ...], *, compared: bool) -> Chart:
    axis = _axis(rows)
    return Chart(
        rows=tuple(_row(one, axis) for one in rows),
        ticks=tuple(_ticks(axis, compared=compared)),
        even=axis.percent(_EVEN) if axis.has(_EVEN) else None,
        legend=tuple(_legend(rows, compared=compared)),
        summary="; ".join(f"{one.result.prompt_class}: {one.said} {one.result.speed.outcome.value}" for one in rows),
    )


def _axis(rows: tuple[_Values, ...]) -> Axis:
    marks = [mark for one in rows for mark in one.marks]
    low, high = min(marks), max(marks)
    room = max(_WIDEST * (high - low), 0.1 * high)
    ends = [end for one in rows for end in (max(one.low, low - room), min(one.high, high + room))]
    even = [_EVEN] if low - room <= _EVEN <= high + room else []
    return spanning([*marks, *ends, *even])


def _ticks(axis: Axis, *, compared: bool) -> Iterator[tuple[float, str]]:
    if not compared:
        ticks = axis.ticks()
        yield from ((axis.percent(tick), f"{tick:.{digits(ticks)}f}x") for tick in ticks)
        return
    changes = Axis(100 * (axis.low - 1), 100 * (axis.high - 1)).ticks()
    yield from ((axis.percent(1 + tick / 100), f"{tick:{'+' if tick else ''}.{digits(changes)}f}%") for tick in changes)


def _row(one: _Values, axis: Axis) -> Row:
    def place(value: float | None) -> float | None:
        return None if value is None else axis.percent(value)

    return Row(
        name=one.result.prompt_class,
        mark=mark_of(one.result.speed),
        said=one.said,
        at=axis.percent(one.at),
        left=axis.percent(one.low),
        right=axis.percent(one.high),
        cut=not (axis.has(one.low) and axis.has(one.high)),
        limit=place(one.limit),
        baseline=place(one.baseline),
        floor=place(one.floor if one.floor != one.limit else None),
        reference=(axis.percent(one.reference[0]), axis.percent(one.reference[1])) if one.reference else None,
    )


def _legend(rows: tuple[_Values, ...], *, compared: bool) -> Iterator[tuple[str, str]]:
    if any(one.limit is not None for one in rows):
        yield "limit", "more than the margin lost" if compared else "below its limit"
    if any(one.baseline is not None for one in rows):
        yield "baseline", "baseline"
    if any(one.floor is not None and one.floor != one.limit for one in rows):
        yield "floor", "floor of the profile"
    if any(one.reference is not None for one in rows):
        yield "reference", "published elsewhere"
