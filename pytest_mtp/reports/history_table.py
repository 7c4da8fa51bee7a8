"""The history as tables: a line for each run, the numbers of one run, and every value for other programs."""

import csv
import io
import json
import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from statistics import fmean

from pytest_mtp.core.history import ClassEntry, Entry, Metric, Series, Unreadable
from pytest_mtp.core.verdict import Outcome
from pytest_mtp.reports.escaping import for_sheet, one_line

_GRAVEST_FIRST = (
    Outcome.ERROR,
    Outcome.REGRESSION,
    Outcome.NOT_EXERCISED,
    Outcome.INVALID,
    Outcome.INCONCLUSIVE,
    Outcome.NO_BASELINE,
    Outcome.PASS,
    Outcome.IMPROVED,
    Outcome.NOT_TOLD,
)
_HEADS = ("run", "date", "build", "flag set", "worst", "speedup", "classes")
_NUMBERS = frozenset({"speedup", "classes"})
_DATE, _OUTCOME, _SPEEDUP, _CLASSES = 10, 13, 7, 7
_FIXED = _DATE + _OUTCOME + _SPEEDUP + _CLASSES + len(_HEADS) - 1
_LEAST_RUN = 15  # the time in a run's name, by which it can be shown
_CLASS, _WIDTH = 15, 80
_BYTES_PER_MIB = 2**20
_COLUMNS = (
    "profile",
    "flag_set",
    "prompt_class",
    "metric",
    "run",
    "at",
    "build",
    "value",
    "low",
    "high",
    "segment",
    "imported_from",
)


def table(entries: Sequence[Entry], unreadable: Sequence[Unreadable], width: int) -> Iterator[str]:
    """A line for each flag set of every run, oldest first under the name of its profile, made for ``width``.

    Then the files that are no runs, each with why. What others measured has the word imported for its outcome.
    """
    columns = _columns(entries, width)
    for profile, group in groupby(sorted(entries, key=lambda one: (one.profile, one.at, one.run)), _profile):
        yield one_line(f"profile {profile}", width)
        yield _row(_HEADS, columns)
        yield from (_row(_cells(one), columns) for one in group)
    if not entries:
        yield "No runs yet."
    for one in unreadable:
        yield from textwrap.wrap(one_line(f"{one.name}: {one.why}"), width, subsequent_indent="  ")


def details(entries: Sequence[Entry]) -> Iterator[str]:
    """One run: of each flag set what was measured with what, and the values of every class, in 80 columns."""
    for index, entry in enumerate(entries):
        yield from [""] if index else []
        yield from _head(entry)
        yield (
            f"{'class':{_CLASS}} {'plain':>6} {'mtp':>6} {'speedup':>7} {'interval 95%':>12} {'tau':>4} {'cost':>4} "
            f"{'prompt':>6}"
        )
        yield from (_of_class(name, one, judged=entry.imported_from is None) for name, one in entry.classes.items())
        if entry.memory is not None and entry.memory.value:
            yield f"The mtp arm took {entry.memory.value / _BYTES_PER_MIB:.0f} MiB on the cards."


def csv_of(series: Iterable[Series]) -> str:
    """Every value with its circumstances, a header first; a text that is a formula to a spreadsheet has a ' before it.

    Rows of the same ``segment`` were measured alike and may be compared. What is absent is empty.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows([for_sheet(one) if isinstance(one, str) else one for one in row] for row in _values(series))
    return text.getvalue()


def json_of(series: Iterable[Series]) -> str:
    """The same as a list of objects, in ASCII; what is absent is null."""
    rows = [dict(zip(_COLUMNS, row, strict=True)) for row in _values(series)]
    return f"{json.dumps(rows, indent=1, allow_nan=False)}\n"


def _profile(entry: Entry) -> str:
    return entry.profile


def _columns(entries: Sequence[Entry], width: int) -> tuple[int, ...]:
    """Widths: by the beginning of a run's name it is shown, so the name gets all that the others leave."""
    build = _fitting([one.build for one in entries], "build", max(12, width // 8))
    flag_set = _fitting([one.flag_set for one in entries], "flag set", max(10, width // 10))
    left = max(_LEAST_RUN, width - _FIXED - build - flag_set)
    run = _fitting([one.run for one in entries], "run", left)
    return run, _DATE, build, flag_set, _OUTCOME, _SPEEDUP, _CLASSES


def _fitting(texts: Sequence[str], head: str, most: int) -> int:
    return min(most, max([len(head), *(len(one_line(text)) for text in texts)]))


def _row(cells: Sequence[str], columns: Sequence[int]) -> str:
    # Cut without a mark: what is left of a run's name can be typed.
    texts = (one_line(cell)[:width] for cell, width in zip(cells, columns, strict=True))
    aligned = (
        f"{text:{'>' if head in _NUMBERS else '<'}{width}}"
        for head, text, width in zip(_HEADS, texts, columns, strict=True)
    )
    return " ".join(aligned).rstrip()


def _cells(entry: Entry) -> tuple[str, ...]:
    measured = sum(Metric.SPEEDUP in one.values for one in entry.classes.values())
    everything = len(entry.classes)
    speedup = _mean_speedup(entry)
    return (
        entry.run,
        entry.at,
        entry.build,
        entry.flag_set,
        _worst(entry),
        "-" if speedup is None else f"{speedup:.2f}x",
        str(everything) if measured == everything else f"{measured}/{everything}",
    )


def _worst(entry: Entry) -> str:
    """The gravest outcome of the classes; others' measurements were not judged, but an arm that failed is plain."""
    outcomes = {one.outcome for one in entry.classes.values()}
    found = next((outcome for outcome in _GRAVEST_FIRST if outcome in outcomes), None)
    if entry.imported_from is not None and (found is None or found.open):
        return "imported"
    return "-" if found is None else found.value


def _mean_speedup(entry: Entry) -> float | None:
    """Geometric mean over the classes that have one."""
    found = [value.value for one in entry.classes.values() if (value := one.values.get(Metric.SPEEDUP)) is not None]
    return math.exp(fmean(map(math.log, found))) if found else None


def _head(entry: Entry) -> Iterator[str]:
    yield one_line(f"run {entry.run}, profile {entry.profile}, flag set {entry.flag_set}")
    yield one_line(f"{entry.at}, build {entry.build}")
    if entry.imported_from is not None:
        yield one_line(f"imported: {entry.imported_from} measured it")
    for name, value in sorted(entry.facts.items()):
        yield from textwrap.wrap(
            one_line(f"{name}: {value}"), _WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False
        )


def _of_class(name: str, one: ClassEntry, *, judged: bool) -> str:
    tps = f"{_number(one, Metric.PLAIN_TPS, 6, 1)} {_number(one, Metric.MTP_TPS, 6, 1)}"
    factors = f"{_number(one, Metric.TAU, 4, 2)} {_number(one, Metric.STEP_COST, 4, 2)}"
    speedup = one.values.get(Metric.SPEEDUP)
    times = "-" if speedup is None else f"{speedup.value:.2f}x"
    outcome = one.outcome.value if judged or not one.outcome.open else "not judged"
    return (
        f"{one_line(name, _CLASS):{_CLASS}} {tps} {times:>7} {_interval(one):>12} {factors} "
        f"{_number(one, Metric.PROMPT_TPS, 6, 0)} {outcome}"
    )


def _interval(one: ClassEntry) -> str:
    value = one.values.get(Metric.SPEEDUP)
    if value is None or value.low is None or value.high is None:
        return "-"
    return f"[{value.low:.2f}, {value.high:.2f}]"


def _number(one: ClassEntry, metric: Metric, width: int, digits: int) -> str:
    value = one.values.get(metric)
    return f"{'-':>{width}}" if value is None else f"{value.value:{width}.{digits}f}"


def _values(series: Iterable[Series]) -> Iterator[tuple[str | float | None, ...]]:
    """In the order of the columns."""
    for one in series:
        key = one.key
        for point in one.points:
            yield (
                key.profile,
                key.flag_set,
                key.prompt_class,
                key.metric,
                point.run,
                point.at,
                point.build,
                *(_finite(number) for number in (point.value.value, point.value.low, point.value.high)),
                point.segment,
                point.imported_from,
            )


def _finite(value: float | None) -> float | None:
    """JSON has no other numbers."""
    return value if value is None or math.isfinite(value) else None
