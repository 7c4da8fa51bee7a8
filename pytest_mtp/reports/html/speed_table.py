"""The numbers of every class as a table, the speeds over all classes, and what the campaign was worth."""

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_mtp.core.profile import Reference
from pytest_mtp.core.rate import RateResult
from pytest_mtp.core.run_report import Judged
from pytest_mtp.core.verdict import ClassResult
from pytest_mtp.reports.comparison import control
from pytest_mtp.reports.html.mark import Mark, mark_of
from pytest_mtp.reports.html.numeral import NONE, change, change_span, number, share, span, times


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table."""

    name: str
    mark: Mark
    cause: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Heads are a title and, where it spans several columns, theirs."""

    heads: tuple[tuple[str, tuple[str, ...]], ...]
    rows: tuple[Row, ...]


_SIDES = ("base", "head")
_MEASURED: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("speedup", ("measured", "interval", "level")),
    ("held against", ("limit", "baseline", "floor")),
    ("tok/s", ("plain", "mtp")),
    ("accepted", ()),
    ("tokens/step", ("was", "is")),
    ("step cost", ()),
    ("blocks", ("count", "sd")),
)
_PUBLISHED: tuple[str, tuple[str, ...]] = ("published", ())
_COMPARED: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("mtp tok/s", (*_SIDES, "change", "interval")),
    ("speedup", _SIDES),
    ("tokens/step", _SIDES),
    ("step cost", _SIDES),
    ("plain tok/s", (*_SIDES, "change")),
    ("blocks", ("count", "sd")),
)
_RATES: tuple[tuple[str, tuple[str, ...]], ...] = (("tok/s", ("was", "is")), ("change", ("measured", "interval")))


def speed_table(judged: Judged) -> Table:
    """A row for every class, measured or not."""
    if judged.compared is not None:
        return Table(_COMPARED, tuple(_row(one, _compared(one)) for one in judged.results))
    if not judged.references:
        return Table(_MEASURED, tuple(_row(one, _measured(one, judged)) for one in judged.results))
    published = {one.prompt_class: _published(judged.references.get(one.prompt_class)) for one in judged.results}
    rows = (_row(one, (*_measured(one, judged), published[one.prompt_class])) for one in judged.results)
    return Table((*_MEASURED, _PUBLISHED), tuple(rows))


def rate_table(judged: Judged) -> Table | None:
    """Both arms' speeds and the prompts', over all classes; ``None`` without anything to hold them against."""
    return Table(_RATES, tuple(map(_rate, judged.rates))) if judged.rates else None


def sentences(judged: Judged) -> Iterator[str]:
    """Which losses could have been found, at which levels, and against what."""
    found = [one.detectable for one in judged.results if one.detectable is not None]
    if found:
        beyond = "a limit" if judged.compared is None else "the margin"
        yield f"Losses of {max(found):.1%} beyond {beyond} would have been found 4 times in 5."
    if judged.compared is not None:
        yield from control(judged.compared)
    if judged.sessions:
        blocks = sum(len(one.campaign.valid) for one in judged.sessions)
        count = len(judged.sessions)
        said = f"Baseline: {blocks} blocks of {count} session{'s' if count > 1 else ''}, last "
        yield f"{said}{judged.sessions[-1].recorded_at[:10]}; {judged.yardsticks.calibration}."
    if judged.again is not None:
        yield f"Classes below their limits were measured again: {len(judged.again.valid)} blocks of fresh starts."
    unequal = [one.prompt_class for one in judged.results if one.acceptance and not one.acceptance.repeatable]
    if judged.campaign.circumstances.sampled:
        unequal = []
    if unequal:
        yield f"Draft counts differ between equal requests, though they are greedy: {', '.join(unequal)}."
    sources = dict.fromkeys(one.source for one in judged.references.values())
    yield from (f"Published: {source}." for source in sources)


def _row(one: ClassResult, cells: tuple[str, ...]) -> Row:
    return Row(one.prompt_class, mark_of(one.speed), one.speed.cause.value if one.speed.cause else "", cells)


def _measured(one: ClassResult, judged: Judged) -> tuple[str, ...]:
    limit, counts = one.limit, one.acceptance
    return (
        times(one.speedup),
        span(one.low, one.high),
        share(one.level),
        times(limit.speedup if limit else None),
        times(limit.baseline if limit else None),
        times(judged.floors.get(one.prompt_class)),
        number(one.plain_tps, 1),
        number(one.mtp_tps, 1),
        share(counts.share if counts else None),
        number(one.tau_then),
        number(counts.tau if counts else None),
        number(one.step_cost),
        str(one.blocks),
        share(one.block_sd),
    )


def _published(one: Reference | None) -> str:
    if one is None:
        return NONE
    return times(one.low) if one.low == one.high else f"{times(one.low)} to {times(one.high)}"


def _compared(one: ClassResult) -> tuple[str, ...]:
    against, counts = one.against, one.acceptance
    if against is None or counts is None:
        return (NONE,) * 15
    return (
        number(against.mtp_tps, 1),
        number(one.mtp_tps, 1),
        change(against.mtp),
        change_span(against.low, against.high),
        times(against.speedup),
        times(one.speedup),
        number(one.tau_then),
        number(counts.tau),
        number(against.step_cost),
        number(one.step_cost),
        number(against.plain_tps, 1),
        number(one.plain_tps, 1),
        change(against.plain),
        str(one.blocks),
        share(one.block_sd),
    )


def _rate(one: RateResult) -> Row:
    cause = one.verdict.cause.value if one.verdict.cause else ""
    cells = (number(one.then_tps, 1), number(one.now_tps, 1), change(one.change), change_span(one.low, one.high))
    return Row(f"all {one.rate.value}", mark_of(one.verdict), cause, cells)
