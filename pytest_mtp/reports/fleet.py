"""A fleet in a terminal: what is planned, where each cell is, and what each measured."""

import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean

from pytest_mtp.core.amount import counted
from pytest_mtp.core.fleet.cell import Cell, State
from pytest_mtp.core.fleet.manifest import minutes_by_kind
from pytest_mtp.core.fleet.standing import Conclusion, Standing
from pytest_mtp.core.verdict import ClassResult, Outcome
from pytest_mtp.reports.conclusion import Word
from pytest_mtp.reports.escaping import one_line
from pytest_mtp.reports.html.numeral import number, span, times
from pytest_mtp.reports.line import shortened

_ID, _STATE, _VERDICT, _SPEEDUP, _MINUTES = 12, 8, 9, 7, 6
_LEAST, _MOST_MACHINE, _MOST_KIND = 7, 16, 14
_CLASS, _CLASS_MACHINE = 13, 12
_LONGEST = 600
_NAMED = 4
_FAILED = ("ERROR", "FAILED")
# What a person waits for or must see comes first where not all fits.
_ORDER = (State.RUNNING, State.REFUSED, State.LOST, State.DONE, State.WAITING)


def plan_lines(cells: Sequence[Cell], width: int) -> Iterator[str]:
    """A line for each cell, and what all of them may take."""
    machine, kind = _fitting(cells, "machine", _MOST_MACHINE), _fitting(cells, "kind", _MOST_KIND)
    yield _plan_line(("cell", "machine", "kind", "minutes", "measures"), machine, kind, width)
    for one in cells:
        cells_of = (one.id, one.machine, one.kind, f"{one.minutes:g}", one.name)
        yield _plan_line(cells_of, machine, kind, width)
    kinds = minutes_by_kind(cells)
    each = ", ".join(f"{name} {minutes:g}" for name, minutes in kinds.items())
    yield from _wrapped(f"{counted(len(cells), 'cell')}, at most {sum(kinds.values()):g} minutes: {each}.", width)


def word(standing: Standing) -> Word | None:
    """The verdict of a cell; ``None`` while there is none."""
    found = standing.conclusion
    if found is None or standing.state is State.LOST:
        return None
    if any(one.outcome is Outcome.ERROR for one in found.verdicts) or (found.fails and not found.verdicts):
        return Word.ERROR
    if found.fails:
        return Word.FAIL
    return Word.UNDECIDED if found.open else Word.PASS


def word_or_open(standing: Standing) -> Word:
    """The same; a cell without a verdict has no answer."""
    said = word(standing)
    return Word.UNDECIDED if said is None else said


def change_line(standing: Standing) -> str:
    """What became of a cell, for a log."""
    cell, said = standing.cell, word(standing)
    where = f" on {standing.worker}" if standing.worker and standing.state is not State.WAITING else ""
    verdict = f": {said.name}" if said is not None else ""
    return one_line(f"{cell.id} {cell.machine} {standing.state.value}{where}{verdict}", 200)


def live_lines(standings: Sequence[Standing], width: int, height: int) -> list[str]:
    """The table as far as it fits, what runs first; its last line counts all of them."""
    ordered = sorted(standings, key=lambda one: _ORDER.index(one.state))
    shown = list(_rows(ordered[: height - 2], width))
    return [*shown, one_line(counts(standings), width)][-height:]


def counts(standings: Iterable[Standing]) -> str:
    """``3 cells: 1 running, 2 done (1 PASS, 1 FAIL)``."""
    found = list(standings)
    states = Counter(one.state for one in found)
    words = Counter(said.name for one in found if (said := word(one)) is not None)
    of_words = ", ".join(f"{count} {name}" for name, count in sorted(words.items()))
    verdicts = {State.DONE: f" ({of_words})"}
    told = [f"{states[state]} {state.value}{verdicts.get(state, '')}" for state in State if states[state]]
    return f"{counted(len(found), 'cell')}: {', '.join(told)}"


def table(standings: Sequence[Standing], width: int) -> Iterator[str]:
    """All cells, what each class came to on each machine, and why something is no pass."""
    yield from _rows(standings, width)
    yield from _wrapped(counts(standings), width)
    measured = [one for one in standings if one.conclusion is not None and one.conclusion.results]
    if measured:
        yield ""
        yield f"{'class':{_CLASS}} {'machine':{_CLASS_MACHINE}} {'plain':>6} {'mtp':>6} {'speedup':>7} interval"
        yield from (one_line(line, width) for line in _by_class(measured))
    told = [line for one in standings for line in _why(one)]
    if told:
        yield ""
        for line in told:
            yield from _wrapped(line, width)


def speedup_of(found: Conclusion) -> float | None:
    """Geometric mean over the classes that have one."""
    logs = [math.log(one.speedup) for one in found.results if one.speedup is not None and one.speedup > 0]
    return math.exp(fmean(logs)) if logs else None


def minutes_of(standing: Standing) -> float | None:
    """How long it took; ``None`` while it is not over, and of a lost one, of which that is not known."""
    return None if standing.conclusion is None or standing.state is State.LOST else standing.conclusion.minutes


def reason(standing: Standing) -> str | None:
    """Why a cell is no plain pass, in a sentence or a few; ``None`` where it is one, or not over."""
    found = standing.conclusion
    if found is None or word(standing) is Word.PASS:
        return None
    verdicts = [
        *((one.prompt_class, verdict) for one in found.results for verdict in (one.speed, one.drafts)),
        *found.others,
    ]
    said = [f"{name}: {one.reason}" for name, one in verdicts if not one.outcome.blameless]
    return "; ".join(said) or "; ".join(_last_words(found)) or f"it ended with status {found.status}"


def sentence(standings: Sequence[Standing]) -> str:
    """The verdict over all machines."""
    words = [word_or_open(one) for one in standings]
    worst = max(words, default=Word.UNDECIDED)
    named = dict.fromkeys(one.cell.machine for one, said in zip(standings, words, strict=True) if said is worst)
    told = list(named)[:_NAMED] + ([f"{len(named) - _NAMED} more"] if len(named) > _NAMED else [])
    share = f"{words.count(worst)} of {counted(len(words), 'cell')}"
    return {
        Word.ERROR: f"{share} could not be measured: {', '.join(told)}.",
        Word.FAIL: f"{share} lost: {', '.join(told)}.",
        Word.UNDECIDED: f"No loss is proven, but {share} {'has' if words.count(worst) == 1 else 'have'} no answer.",
        Word.PASS: f"Nothing was lost: {share} passed.",
    }[worst]


def _last_words(found: Conclusion) -> list[str]:
    """Of an output why something failed, each cause once; else, and of what was ended, its last line."""
    lines = [line for line in found.said.split("\n") if line]
    causes = [line.partition(" - ")[2] or line for line in lines if line.startswith(_FAILED)] if found.fails else []
    return list(dict.fromkeys(causes)) or lines[-1:]


def _plan_line(cells: Sequence[str], machine: int, kind: int, width: int) -> str:
    identity, of, needs, minutes, measures = map(one_line, cells)
    line = (
        f"{identity:{_ID}} {shortened(of, machine):{machine}} {shortened(needs, kind):{kind}} {minutes:>7} {measures}"
    )
    return one_line(line, width)


def _fitting(cells: Iterable[Cell], name: str, most: int) -> int:
    return min(most, max(len(name), *(len(getattr(one, name)) for one in cells)))


def _rows(standings: Sequence[Standing], width: int) -> Iterator[str]:
    machine = max([_LEAST, *(min(_MOST_MACHINE, len(one.cell.machine)) for one in standings)])
    yield _row(("cell", "machine", "state", "verdict", "speedup", "min", "measures"), machine, width)
    for one in standings:
        found, said = one.conclusion, word(one)
        cells = (
            one.cell.id,
            one.cell.machine,
            one.state.value,
            "-" if said is None else said.name,
            times(None if found is None else speedup_of(found)),
            number(minutes_of(one), 1),
            one.cell.name,
        )
        yield _row(cells, machine, width)


def _row(cells: Sequence[str], machine: int, width: int) -> str:
    identity, of, state, verdict, speedup, minutes, measures = map(one_line, cells)
    line = (
        f"{identity:{_ID}} {shortened(of, machine):{machine}} {state:{_STATE}} {verdict:{_VERDICT}} "
        f"{speedup:>{_SPEEDUP}} {minutes:>{_MINUTES}} {measures}"
    )
    return one_line(line, width).rstrip()


def by_subject(standings: Iterable[Standing]) -> Mapping[Cell, list[tuple[Standing, ClassResult]]]:
    """What was measured, by a cell that names it; ordered by class, so that machines stand below each other."""
    subjects: dict[tuple[str, str, str], Cell] = {}
    found: dict[Cell, dict[str, list[tuple[Standing, ClassResult]]]] = {}
    for one in standings:
        classes = found.setdefault(subjects.setdefault(one.cell.subject, one.cell), {})
        for result in one.conclusion.results if one.conclusion is not None else ():
            classes.setdefault(result.prompt_class, []).append((one, result))
    return {cell: [pair for pairs in classes.values() for pair in pairs] for cell, classes in found.items() if classes}


def _by_class(standings: Sequence[Standing]) -> Iterator[str]:
    for cell, found in by_subject(standings).items():
        yield one_line(cell.name)
        yield from (_class_line(*pair) for pair in found)


def _class_line(standing: Standing, one: ClassResult) -> str:
    name, machine = (one_line(text) for text in (one.prompt_class, standing.cell.machine))
    return (
        f"{shortened(name, _CLASS):{_CLASS}} {shortened(machine, _CLASS_MACHINE):{_CLASS_MACHINE}} "
        f"{number(one.plain_tps, 1):>6} {number(one.mtp_tps, 1):>6} {times(one.speedup):>7} "
        f"{span(one.low, one.high):13} {one.speed.outcome.value}"
    )


def _why(standing: Standing) -> Iterator[str]:
    if (said := reason(standing)) is not None:
        yield one_line(f"{standing.cell.id} {standing.cell.machine}: {said}", _LONGEST)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(one_line(text), width, subsequent_indent="  ", break_on_hyphens=False) or [""]
