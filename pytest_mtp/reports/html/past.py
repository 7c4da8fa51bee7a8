"""The history of a page: a panel for every class, with its quantities, its table, and the data for walking it."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_mtp.core.history import Metric, Series
from pytest_mtp.core.history_verdict import HistoryVerdict
from pytest_mtp.reports.html.numeral import NONE, measured
from pytest_mtp.reports.html.trend import NEWEST, Boundary, Drawing, drawing, told_change

WHOLE = "whole flag set"
"""Whose quantities belong to no class, such as memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One class of one flag set."""

    title: str
    flag_set: str
    drawings: tuple[Drawing, ...]
    boundaries: tuple[Boundary, ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """The newest runs, newest first."""
    runs: int
    """In all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """All panels, and what the history says."""

    panels: tuple[Panel, ...]
    metrics: tuple[Metric, ...]
    """Those that any series has, the default first."""
    reasons: tuple[str, ...]
    notices: tuple[str, ...]
    changes: tuple[tuple[str, str, bool], ...]
    """Series, sentence, and whether it is a loss that nobody acknowledged; newest first."""
    data: dict[str, Any]
    """For the script: by panel and quantity the places and words of all runs, and the rows of the table."""


def past(series: Sequence[Series], verdict: HistoryVerdict | None, classes: Sequence[str] = ()) -> Past | None:
    """The history as it is drawn, in the order of ``classes``; ``None`` without one."""
    found: dict[tuple[str, str, str], list[Series]] = defaultdict(list)
    for one in series:
        if one.points:
            found[(one.key.profile, one.key.flag_set, one.key.prompt_class)].append(one)
    if not found and verdict is None:
        return None
    rank = {name: place for place, name in enumerate(classes)}
    # What belongs to no class comes after the classes.
    order = sorted(found, key=lambda one: (one[0], one[1], not one[2], rank.get(one[2], len(rank)), one[2]))
    tables = [_table(found[key]) for key in order]
    panels = tuple(_panel(key, found[key], table, verdict) for key, table in zip(order, tables, strict=True))
    told = {drawn.metric for panel in panels for drawn in panel.drawings}
    return Past(
        panels=panels,
        metrics=tuple(one for one in Metric if one in told),
        reasons=verdict.reasons if verdict else (),
        notices=verdict.notices if verdict else (),
        changes=tuple(_changes(verdict)),
        data={"walks": [_walks(*one) for one in zip(panels, tables, strict=True)], "tables": tables},
    )


def _panel(
    key: tuple[str, str, str], series: Sequence[Series], table: list[tuple[str, ...]], verdict: HistoryVerdict | None
) -> Panel:
    by_metric = {one.metric: one for one in series}
    drawings = tuple(drawing(by_metric[one], verdict) for one in Metric if one in by_metric)
    return Panel(
        title=key[2] or WHOLE,
        flag_set=f"{key[0]}, flag set {key[1]}",
        drawings=drawings,
        boundaries=drawings[0].boundaries,
        heads=("run", "date", "build", *(one.metric.value for one in drawings)),
        rows=tuple(table[:NEWEST]),
        runs=len(table),
    )


def _table(series: Sequence[Series]) -> list[tuple[str, ...]]:
    """Every run with all its quantities, newest first."""
    by_metric = {one.metric: {point.run: point for point in one.points} for one in series}
    metrics = [metric for metric in Metric if metric in by_metric]
    runs = {point.run: point for one in series for point in one.points}
    order = sorted(runs.values(), key=lambda one: (one.at, one.run), reverse=True)
    return [
        (
            one.run,
            one.at[:10],
            one.build,
            *(
                measured(metric, by_metric[metric][one.run].value) if one.run in by_metric[metric] else NONE
                for metric in metrics
            ),
        )
        for one in order
    ]


def _walks(panel: Panel, table: Sequence[tuple[str, ...]]) -> dict[str, Any]:
    """Of every quantity the places of all runs, the row of each in the table, and the column."""
    rows = {row[0]: number for number, row in enumerate(table)}
    return {
        one.metric.name: {
            "x": [step.x for step in one.walk],
            "y": [step.y for step in one.walk],
            "row": [rows[step.run] for step in one.walk],
            "column": panel.heads.index(one.metric.value),
        }
        for one in panel.drawings
    }


def _changes(verdict: HistoryVerdict | None) -> Iterator[tuple[str, str, bool]]:
    for one in reversed(verdict.changes if verdict else ()):
        told = told_change(one, Metric(one.key.metric))
        yield str(one.key), told, one.loss and one.acknowledged is None
