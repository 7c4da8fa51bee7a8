"""Does a stranger's report say what its own samples say? Each number and verdict that does not follow, by its name.

Reasons, and names of ratios, are left out: they change between versions, and whoever shows a report shows those of now.
"""

import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from pytest_mtp.core.rate import RateResult
from pytest_mtp.core.run_report import Judged, RunReport
from pytest_mtp.core.study import Study
from pytest_mtp.core.study_judge import judged_study
from pytest_mtp.core.verdict import ClassResult
from pytest_mtp.errors import MtpError

_RELATIVE = 1e-9
_NOTHING = 1e-12  # the spread of equal blocks is rounding, which differs between processors
_WORDS = frozenset({"reason", "said", "name", "sides"})


def recheck(report: RunReport) -> tuple[str, ...]:
    """One sentence for each number or verdict that does not follow from the samples; empty where all do.

    Names of flag sets and classes are in them as the report has them.
    """
    return (
        *(sentence for one in report.judged for sentence in _judged(one)),
        *(sentence for study in report.studies for sentence in _study(study, report)),
    )


def _study(stored: Study, report: RunReport) -> Iterator[str]:
    name = f"{stored.flag_set}, {stored.title}"
    try:
        now = judged_study(stored, report.campaign_of(stored.flag_set))
    except _UNJUDGED as error:
        yield _said_unjudged(name, error)
        return
    if len(stored.results) != len(now.results) or len(stored.checks) != len(now.checks):
        yield f"{name}: the report has not the ratios and checks that its samples give."
        return
    for ratio, found in zip(stored.results, now.results, strict=True):
        yield from _differences(f"{name}, {found.name}", "", ratio, found)
    for check, held in zip(stored.checks, now.checks, strict=True):
        yield from _differences(f"{name}, {held.name}", "", check, held)
    yield from _differences(name, "verdict", stored.verdict, now.verdict)


_UNJUDGED = (MtpError, ArithmeticError, LookupError, ValueError, StopIteration, RuntimeError)
"""Whatever a stranger's samples lack: a report that cannot be judged proves nothing."""


def _said_unjudged(name: str, error: Exception) -> str:
    return f"{name}: its samples cannot be judged ({type(error).__name__}: {error}), so nothing it says follows."


def _judged(stored: Judged) -> Iterator[str]:
    name = stored.campaign.flag_set
    try:
        now = stored.rejudged()
    except _UNJUDGED as error:
        yield _said_unjudged(name, error)
        return
    yield from _results(name, stored.results, now.results)
    yield from _rates(name, stored.rates, now.rates)


def _results(name: str, stored: tuple[ClassResult, ...], now: tuple[ClassResult, ...]) -> Iterator[str]:
    told, found = _named(stored), {one.prompt_class: one for one in now}
    for prompt_class, result in found.items():
        if prompt_class not in told:
            yield f"{name}, {prompt_class}: the report has no result; its samples give {result.speed.outcome.value}."
    for prompt_class, results in told.items():
        where = f"{name}, {prompt_class}"
        if prompt_class not in found:
            yield f"{where}: the report has a result, and no samples for it."
            continue
        if len(results) > 1:
            yield f"{where}: the report has {len(results)} results of one class."
        for one in results:
            yield from _differences(where, "", one, found[prompt_class])


def _named(results: tuple[ClassResult, ...]) -> dict[str, list[ClassResult]]:
    names = dict.fromkeys(one.prompt_class for one in results)
    return {name: [one for one in results if one.prompt_class == name] for name in names}


def _rates(name: str, stored: tuple[RateResult, ...], now: tuple[RateResult, ...]) -> Iterator[str]:
    """The speeds; a format that had none, or lost them in reading, is told apart from a loss that was taken out."""
    found = {one.rate: one for one in now}
    told = {one.rate for one in stored}
    for one in stored:
        if one.rate not in found:
            yield f"{name}, {one.rate.value}: the report has a verdict, and no samples for it."
            continue
        yield from _differences(f"{name}, {one.rate.value}", "", one, found[one.rate])
    for one in now:
        if one.rate not in told and (stored or not one.verdict.outcome.blameless):
            outcome = one.verdict.outcome.value
            yield f"{name}, {one.rate.value}: the report has no verdict (or an old format); its samples give {outcome}."


def _differences(where: str, path: str, stored: Any, now: Any) -> Iterator[str]:
    """Where two values differ, down to their numbers."""
    if is_dataclass(stored) and type(stored) is type(now):
        for each in fields(stored):
            if each.name not in _WORDS:
                inner = f"{path}.{each.name}" if path else each.name
                yield from _differences(where, inner, getattr(stored, each.name), getattr(now, each.name))
    elif not _same(stored, now):
        yield f"{where}: {path} is {_said(stored)} in the report; its samples give {_said(now)}."


def _same(stored: Any, now: Any) -> bool:
    if isinstance(stored, float) and isinstance(now, float):
        return math.isclose(stored, now, rel_tol=_RELATIVE, abs_tol=_NOTHING)
    return bool(stored == now)


def _said(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, Enum):
        return str(value.value)
    return "a value" if is_dataclass(value) else f"{value!r}"
