"""The sentences of a history's verdict."""

from collections.abc import Iterable, Sequence

from pytest_mtp.core.amount import memory_amount
from pytest_mtp.core.change_point import FEWEST_POINTS
from pytest_mtp.core.history import Key, Metric, Series, changed_facts
from pytest_mtp.core.history_verdict import Acknowledgement, LevelChange, Surprise
from pytest_mtp.core.trail import Trail

_UNITS = {Metric.SPEEDUP: "x", Metric.PLAIN_TPS: " tok/s", Metric.MTP_TPS: " tok/s", Metric.PROMPT_TPS: " tok/s"}


def loss_sentence(change: LevelChange, now: float) -> str:
    """Why a change is red; ``now`` is the level of today, after whatever changed since."""
    later = "" if now == change.after else f" (now {quantity(change.key, now)})"
    return (
        f"{_moved(change)}{later}, since run {change.run} of build {change.build} and for {_runs(change.runs_after)}; "
        f"the last good build is {change.last_build} (run {change.last_run})."
    )


def gain_sentence(change: LevelChange) -> str:
    """What a reader may record."""
    return (
        f"{_moved(change)}, a gain, since run {change.run} of build {change.build}; "
        f"record a new baseline, or acknowledge it as the new level."
    )


def surprise_sentence(surprise: Surprise, trail: Trail, count: int) -> str:
    """Why a value is red that is outside again: of the newest ``count`` runs, each is."""
    good, first, key = trail.points[-count - 1], trail.points[-count], surprise.key
    low, high, level = (quantity(key, one) for one in (surprise.low, surprise.high, surprise.mean))
    return (
        f"{key} is {quantity(key, surprise.value)}, the run before {quantity(key, trail.points[-2].value.value)}, "
        f"outside of {low} to {high} that its level of {level} allows, since run {first.run} of build {first.build} "
        f"and for {_runs(count)}; the last good build is {good.build} (run {good.run})."
    )


def beginnings(trails: Iterable[tuple[Trail, str]]) -> tuple[str, ...]:
    """Which series have too few runs, one sentence for those that began together and for the same reason."""
    told: dict[tuple[int, str], list[Key]] = {}
    for trail, why in trails:
        told.setdefault((len(trail.points), why), []).append(trail.key)
    return tuple(
        f"{_listed(keys)}: {_runs(count)} so far{f', since {why}' if why else ''}; judged from {FEWEST_POINTS} runs on."
        for (count, why), keys in told.items()
    )


def why_anew(series: Series, trail: Trail) -> str:
    """What else than the build changed when this trail began; empty where nothing was before it."""
    first = trail.points[0]
    began = series.points.index(first)
    changed = changed_facts(series.points[began - 1], first) if began else None
    return f"run {first.run} had other circumstances ({changed})" if changed else ""


def silent(keys: Sequence[Key], run: str) -> str:
    """That series have no value in this run."""
    return f"{_listed(keys)}: no valid measurement in run {run}, so not judged."


def acknowledged_nothing(one: Acknowledgement) -> str:
    """That an acknowledgement names what is not there."""
    return f"The acknowledgement of {one.series} in run {one.run} names no run of a series; correct or remove it."


def quantity(key: Key, value: float) -> str:
    """A value as people read it."""
    metric = Metric(key.metric)
    return memory_amount(value) if metric is Metric.MEMORY else f"{value:.4g}{_UNITS.get(metric, '')}"


def _moved(change: LevelChange) -> str:
    verb = "rose" if change.after > change.before else "fell"
    before, after = quantity(change.key, change.before), quantity(change.key, change.after)
    return f"{change.key} {verb} by {100 * abs(change.change):.1f} % from {before} to {after}"


def _listed(keys: Sequence[Key]) -> str:
    more = len(keys) - 1
    return f"{keys[0]} and {more} more series" if more > 1 else " and ".join(str(key) for key in keys)


def _runs(count: int) -> str:
    return f"{count} run" if count == 1 else f"{count} runs"
