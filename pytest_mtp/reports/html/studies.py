"""The further suites on the page: each with its verdict, its ratios, its sentences and its notes."""

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_mtp.core.run_report import Judged, RunReport
from pytest_mtp.core.study import QuantityResult, Study
from pytest_mtp.reports.html import circumstances
from pytest_mtp.reports.html.mark import Mark, mark_of
from pytest_mtp.reports.html.numeral import share
from pytest_mtp.reports.studies import NONE, Row, groups, whose


@dataclass(frozen=True, slots=True)
class Ratio:
    """One line of the table."""

    name: str
    mark: Mark | None
    """``None`` without a bound."""
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The ratios of the same two sides."""

    caption: str
    heads: tuple[str, ...]
    ratios: tuple[Ratio, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPart:
    """What the page shows of one study."""

    title: str
    mark: Mark
    tables: tuple[Table, ...]
    checks: tuple[tuple[Mark, str], ...]
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Circumstances and commands of a study's first campaign, for a run that has no other."""

    title: str
    facts: tuple[circumstances.Facts, ...]
    commands: tuple[circumstances.Command, ...]


def study_part(study: Study) -> StudyPart:
    """One study; its sentence is among the reasons at the head of the page."""
    return StudyPart(
        title=whose(study),
        mark=mark_of(study.verdict),
        tables=tuple(_tables(study)),
        checks=tuple((mark_of(one.outcome), one.said) for one in study.checks),
        notices=(*study.notices, *study.left_out),
    )


def surroundings(report: RunReport) -> tuple[Surroundings, ...]:
    """Of every study with campaigns of its own, where no flag set was gated."""
    return () if report.judged else tuple(_around(study) for study in report.studies if study.variants)


def _around(study: Study) -> Surroundings:
    first = Judged(campaign=study.variants[0].campaign, gate=study.gate)
    return Surroundings(
        title=f"{whose(study)}, {study.variants[0].name}",
        facts=circumstances.facts(first),
        commands=circumstances.commands(first),
    )


def _tables(study: Study) -> Iterator[Table]:
    for (first, second), found in groups(study):
        yield Table(
            caption=f"{second} over {first}",
            heads=(first, second, "unit", "ratio", "interval", "level", "bound", "blocks"),
            ratios=tuple(_ratio(row, one) for row, one in found),
        )


def _ratio(row: Row, one: QuantityResult) -> Ratio:
    mark = None if one.outcome is None else mark_of(one.outcome)
    measured = (row.first, row.second, row.unit or NONE, row.ratio, row.interval, share(one.level))
    return Ratio(row.name, mark, (*measured, str(one.bound) if one.bound else NONE, str(one.blocks)))
