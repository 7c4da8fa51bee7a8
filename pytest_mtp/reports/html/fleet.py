"""A fleet on one page: every cell, and each class beside itself on every machine; no script, no request."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_mtp.core.fleet.cell import State
from pytest_mtp.core.fleet.standing import Standing
from pytest_mtp.core.verdict import ClassResult, Outcome
from pytest_mtp.reports.conclusion import Word
from pytest_mtp.reports.fleet import by_subject, counts, minutes_of, reason, sentence, speedup_of, word, word_or_open
from pytest_mtp.reports.html.mark import Mark, mark_of
from pytest_mtp.reports.html.numeral import number, span, times
from pytest_mtp.reports.html.page import templates
from pytest_mtp.reports.html.speed_table import Row, Table
from pytest_mtp.reports.line import Tone

_MARKS = {
    Word.PASS: Outcome.PASS,
    Word.UNDECIDED: Outcome.INCONCLUSIVE,
    Word.FAIL: Outcome.REGRESSION,
    Word.ERROR: Outcome.ERROR,
}
_HEADS = (("machine", ()), ("speedup", ("ratio", "interval")), ("tok/s", ("plain", "mtp")), ("tokens/step", ()))
_TONES = {Word.PASS: Tone.GOOD, Word.UNDECIDED: Tone.OPEN, Word.FAIL: Tone.BAD, Word.ERROR: Tone.BAD}


@dataclass(frozen=True, slots=True)
class Part:
    """What is measured, and a table of its classes over all machines."""

    title: str
    subject: str
    """The same in full."""
    table: Table


@dataclass(frozen=True, slots=True)
class CellRow:
    """One cell."""

    cells: tuple[str, ...]
    mark: Mark
    why: str | None
    said: str


def fleet_page(standings: Sequence[Standing], created_at: str, tool: str) -> str:
    """The whole file as text; SettingsError where jinja2 is not installed."""
    worst = max(map(word_or_open, standings), default=Word.UNDECIDED)
    return (
        templates()
        .get_template("fleet.html.j2")
        .render(
            tool=tool,
            created_at=created_at,
            word=worst.name,
            tone=_TONES[worst].value,
            sentence=sentence(standings),
            counts=counts(standings),
            machines=len({one.cell.machine for one in standings}),
            rows=tuple(map(_cell_row, standings)),
            parts=tuple(_parts(standings)),
            past=None,
        )
    )


def _cell_row(standing: Standing) -> CellRow:
    cell, found = standing.cell, standing.conclusion
    cells = (
        cell.machine, cell.kind, cell.name, standing.worker or "-",
        times(None if found is None else speedup_of(found)),
        number(minutes_of(standing), 1),
        found.machine if found is not None and found.machine else "-",
        found.build if found is not None and found.build else "-",
    )  # fmt: skip
    return CellRow((cell.id, *cells), _mark(standing), reason(standing), "" if found is None else found.said)


def _mark(standing: Standing) -> Mark:
    said = word(standing)
    if said is None:
        tone = Tone.OPEN if standing.state in (State.LOST, State.REFUSED) else Tone.PLAIN
        return Mark("saltire" if tone is Tone.OPEN else "dash", tone.value, standing.state.value)
    shape = mark_of(_MARKS[said])
    return Mark(shape.shape, shape.tone, said.name)


def _parts(standings: Sequence[Standing]) -> Iterator[Part]:
    """One for each thing that is measured."""
    for cell, found in by_subject(standings).items():
        rows = tuple(_class_row(standing.cell.machine, one) for standing, one in found)
        yield Part(cell.name, ", ".join(part for part in cell.subject if part), Table(heads=_HEADS, rows=rows))


def _class_row(machine: str, one: ClassResult) -> Row:
    cells = (
        machine,
        times(one.speedup),
        span(one.low, one.high),
        number(one.plain_tps, 1),
        number(one.mtp_tps, 1),
        number(None if one.acceptance is None else one.acceptance.tau),
    )
    cause = one.speed.cause.value if one.speed.cause is not None else ""
    return Row(one.prompt_class, mark_of(one.speed), cause, cells)
