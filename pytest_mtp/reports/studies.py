"""What the further suites found: a row for each ratio, and the section of the terminal that is made of them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from pytest_mtp.core.study import Check, QuantityResult, Study
from pytest_mtp.core.verdict import Outcome
from pytest_mtp.reports.line import Line, Tone, shortened, tone_of

NONE = "-"
_NAME = 19
_VALUES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One ratio in words, a cell each; what there is not is a dash."""

    name: str
    first: str
    second: str
    unit: str
    """Empty where both values are counts or ratios."""
    ratio: str
    interval: str
    bound: str
    outcome: Outcome | None
    """``None`` without a bound."""
    sides: tuple[str, str]
    """What the two values are of."""


def groups(study: Study) -> Iterator[tuple[tuple[str, str], tuple[tuple[Row, QuantityResult], ...]]]:
    """What stands under one head, the two sides that all its values are of: rows, and what they are made of."""
    for sides, found in groupby(study.results, study.sides):
        yield sides, tuple((_row(one, study), one) for one in found)


def rows(study: Study) -> tuple[Row, ...]:
    """Every ratio of a study, those that judge nothing among them."""
    return tuple(_row(one, study) for one in study.results)


def whose(study: Study) -> str:
    """A study among those of a run."""
    return f"{study.title}, flag set {study.flag_set}"


def study_lines(studies: Sequence[Study]) -> Iterator[Line]:
    """All studies of a run, in 80 columns but for sentences; nothing where there are none."""
    if studies:
        yield Line("")
        yield Line("further suites", Tone.HEAD)
    for study in studies:
        outcome = study.verdict.outcome
        yield Line("")
        yield Line(f"{whose(study)}: {outcome.value}", tone_of(outcome))
        yield from _table(study)
        yield from (line for check in study.checks for line in _check(check))
        if not (study.results or study.checks or outcome.blameless):
            yield from _sentence(study.verdict.reason, tone_of(outcome))
        yield from (Line(f"note: {said}") for said in (*study.notices, *study.left_out))


def _row(one: QuantityResult, study: Study) -> Row:
    bounded = math.isfinite(one.low) and math.isfinite(one.high)
    return Row(
        name=one.name,
        first=_amount(one.first),
        second=_amount(one.second),
        unit=one.unit,
        ratio=f"{one.ratio:.2f}x" if math.isfinite(one.ratio) else NONE,
        interval=f"[{one.low:.2f}, {one.high:.2f}]" if bounded else NONE,
        bound=f"{'<=' if one.bound.most else '>='} {one.bound.limit:.2f}" if one.bound else NONE,
        outcome=one.outcome,
        sides=study.sides(one),
    )


def _amount(value: float) -> str:
    """Four digits, without an exponent however large."""
    if not math.isfinite(value):
        return NONE
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"  # noqa: PLR2004 - four digits before the point


def _table(study: Study) -> Iterator[Line]:
    for sides, found in groups(study):
        yield Line(f"{_head(*sides)} ratio {'interval':12} {'bound':7} verdict")
        yield from (line for row, _ in found for line in _lines(row))


def _head(first: str, second: str) -> str:
    """Both sides above their values, or, where they are long, up to where the values end."""
    whole = _NAME + 1 + _VALUES
    said = shortened(f"{first} -> {second}", whole)
    return f"{'':{_NAME}} {said:{_VALUES}}" if len(said) <= _VALUES else f"{said:>{whole}}"


def _lines(row: Row) -> Iterator[Line]:
    name = row.name
    if len(name) > _NAME:
        yield Line(name)
        name = ""
    values = f"{row.first} -> {row.second} {row.unit}".rstrip()
    told = f"{name:{_NAME}} {values:{_VALUES}} {row.ratio:>5} {row.interval:12} {row.bound:7}"
    if row.outcome is None:
        yield Line(f"{told} {NONE}")
    else:
        yield Line(f"{told} {row.outcome.value}", tone_of(row.outcome))


def _check(check: Check) -> Iterator[Line]:
    if check.outcome.blameless:
        yield Line(check.said)
    else:
        yield from _sentence(f"{check.outcome.value}: {check.said}", tone_of(check.outcome))


def _sentence(said: str, tone: Tone) -> Iterator[Line]:
    """A sentence, and below it the log that may follow."""
    first, *rest = said.splitlines() or [""]
    yield Line(first, tone)
    yield from (Line(f"  {line}") for line in rest)
