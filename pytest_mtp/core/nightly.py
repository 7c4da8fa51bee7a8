"""Is the newest run where the history says that it should be? Two rules answer, each for every series.

A *change of level* needs two runs at the new level and Otava's p; a *surprise* is a value outside of where the
current level puts one more run, and counts when the run before was outside on the same side, too. Each rule
errs in about ``_CHANCE`` of the runs over all series together: a change point gets its p divided by the
number of series, and a surprise gets the square root of that for each of its two runs.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_mtp.core.change_point import FEWEST_POINTS
from pytest_mtp.core.history import Key, Metric, Series
from pytest_mtp.core.history_reason import (
    acknowledged_nothing,
    beginnings,
    gain_sentence,
    loss_sentence,
    silent,
    surprise_sentence,
    why_anew,
)
from pytest_mtp.core.history_verdict import Acknowledgement, HistoryVerdict, LevelChange, Surprise
from pytest_mtp.core.trail import Trail, names, trail

_CHANCE = 0.00025
"""Of a false alarm in one run, over all series."""


@dataclass(frozen=True, slots=True)
class _Past:
    """A series up to the run that is judged."""

    series: Series
    trails: tuple[Trail, ...]
    current: Trail | None
    """The trail that the run continues; ``None`` where it has no value."""


def judge_history(
    series: Sequence[Series],
    run: str,
    acknowledged: Sequence[Acknowledgement] = (),
    *,
    family: int | None = None,
) -> HistoryVerdict:
    """What all series together say about ``run``; later runs count for nothing.

    ``family`` is the number of series that share the chance of a false alarm; ``None``: as many as have a value in
    ``run``. MtpError where Otava is not installed.
    """
    at = max((point.at for one in series for point in one.points if point.run == run), default="")
    until = [_until(one, (at, run)) for one in series]
    judged = [one for one in until if _continues(one, run)]
    if not judged:
        return HistoryVerdict(run=run, notices=(f"Run {run} measured nothing that has a history.",))
    p = _CHANCE / (family or len(judged))
    pasts = [_past(one, run, p, acknowledged) for one in until]
    trails = [past.current for past in pasts if past.current is not None]
    tail = math.sqrt(p)
    surprises = [(one, surprise) for one in trails if (surprise := one.surprise(tail)) is not None]
    losses = [*_losses(trails), *_recurring(surprises, tail)]
    excused = _excused({key for key, _ in losses}, [one.key for one in trails])
    return HistoryVerdict(
        run=run,
        changes=_oldest_first(change for past in pasts for one in past.trails for change in one.changes),
        surprises=tuple(surprise for _, surprise in surprises),
        reasons=tuple(said for key, said in losses if key not in excused),
        notices=(
            *(f"{said} No loss: its class is as fast as it was." for key, said in losses if key in excused),
            *_begun(pasts),
            *_silent(pasts, run),
            *_gains(trails),
            *_idle(series, acknowledged),
        ),
    )


def _until(series: Series, newest: tuple[str, str]) -> Series:
    """The points that are judged: up to a run, our own, and positive numbers."""
    return Series(
        series.key,
        tuple(
            point
            for point in series.points
            if (point.at, point.run) <= newest
            and point.imported_from is None
            and math.isfinite(point.value.value)
            and point.value.value > 0
        ),
    )


def _continues(series: Series, run: str) -> bool:
    return bool(series.points) and series.points[-1].run == run


def _past(series: Series, run: str, p: float, acknowledged: Sequence[Acknowledgement]) -> _Past:
    segments = dict.fromkeys(point.segment for point in series.points)
    trails = {name: trail(series.key, series.segment(name), p, acknowledged) for name in segments}
    current = trails[series.points[-1].segment] if _continues(series, run) else None
    return _Past(series, tuple(trails.values()), current)


def _oldest_first(changes: Iterable[LevelChange]) -> tuple[LevelChange, ...]:
    return tuple(sorted(changes, key=lambda one: (one.at, one.run, one.key)))


def _losses(trails: Iterable[Trail]) -> Iterator[tuple[Key, str]]:
    for one in trails:
        yield from ((one.key, loss_sentence(change, one.changes[-1].after)) for change in one.standing)


def _recurring(surprises: Iterable[tuple[Trail, Surprise]], tail: float) -> Iterator[tuple[Key, str]]:
    for one, surprise in surprises:
        if surprise.loss and surprise.recurs:
            yield one.key, surprise_sentence(surprise, one, one.streak(tail))


_FACTORS = frozenset({Metric.TAU.value, Metric.STEP_COST.value})
_SPEEDS = frozenset({Metric.SPEEDUP.value, Metric.MTP_TPS.value})


def _excused(lost: Collection[Key], measured: Iterable[Key]) -> frozenset[Key]:
    """Factors that got worse while the class' own speeds held: a good change may lower acceptance."""
    timed = {_class(key) for key in measured if key.metric in _SPEEDS}
    slower = {_class(key) for key in lost if key.metric in _SPEEDS}
    return frozenset(key for key in lost if key.metric in _FACTORS and _class(key) in timed - slower)


def _class(key: Key) -> tuple[str, str, str]:
    return key.profile, key.flag_set, key.prompt_class


def _begun(pasts: Iterable[_Past]) -> tuple[str, ...]:
    return beginnings(
        (past.current, why_anew(past.series, past.current))
        for past in pasts
        if past.current is not None and len(past.current.points) < FEWEST_POINTS
    )


def _silent(pasts: Sequence[_Past], run: str) -> tuple[str, ...]:
    """Series that the run before had, of the campaigns that this run measured."""
    measured = [past for past in pasts if past.current is not None]
    before = {past.series.points[-2].run for past in measured if len(past.series.points) > 1}
    campaigns = {(past.series.key.profile, past.series.key.flag_set) for past in measured}
    missing = [
        past.series.key
        for past in pasts
        if past.current is None
        and past.series.points
        and past.series.points[-1].run in before
        and (past.series.key.profile, past.series.key.flag_set) in campaigns
    ]
    return (silent(missing, run),) if missing else ()


def _gains(trails: Iterable[Trail]) -> tuple[str, ...]:
    """The newest change of each series, where it is a gain that nobody acknowledged."""
    return tuple(
        gain_sentence(one.changes[-1])
        for one in trails
        if one.changes and not one.changes[-1].loss and one.starts[-1] > one.reviewed
    )


def _idle(series: Sequence[Series], acknowledged: Iterable[Acknowledgement]) -> tuple[str, ...]:
    """Acknowledgements that name no run of a series."""
    return tuple(
        acknowledged_nothing(one)
        for one in acknowledged
        if not any(names(one.series, has.key) and any(point.run == one.run for point in has.points) for has in series)
    )
