"""The history: what every run measured, as one series per quantity, cut where more than the build has changed.

Entry (one campaign of one run, without its samples) -> Point (one quantity of one class) -> Series.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from pytest_mtp.core.factors import Factors, factors
from pytest_mtp.core.run_report import Judged, RunReport
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.speedup import FEWEST_BLOCKS, Estimate
from pytest_mtp.core.verdict import Outcome

_LEVEL = 0.95


class Metric(Enum):
    """A quantity that has a history."""

    SPEEDUP = "speedup"
    TAU = "tau"
    STEP_COST = "step cost"
    PLAIN_TPS = "plain tok/s"
    MTP_TPS = "mtp tok/s"
    PROMPT_TPS = "prompt tok/s"
    MEMORY = "device memory"

    @property
    def more_is_worse(self) -> bool:
        """Whether a rise is the loss."""
        return self in {Metric.STEP_COST, Metric.MEMORY}


@dataclass(frozen=True, slots=True)
class Value:
    """A measured quantity: a ratio, a count per step, tok/s or bytes; its 95 % interval where it has one."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassEntry:
    """One prompt class in one run."""

    outcome: Outcome
    values: dict[Metric, Value] = field(default_factory=dict)
    """Empty where nothing valid was measured."""
    prompt: str = ""
    """Digest of the prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One campaign of one run, small enough to keep thousands of them in memory."""

    run: str
    """Name of the run: its file without the suffix."""
    at: str
    """RFC 3339, UTC."""
    profile: str
    flag_set: str
    build: str
    """Label of the llama.cpp under test."""
    facts: dict[str, str]
    """Machine, model, flags and request, by name: what must be equal for two runs to be compared."""
    classes: dict[str, ClassEntry]
    memory: Value | None = None
    """Bytes that the mtp arm took on the cards."""
    imported_from: str | None = None
    """The tool whose file this was; ``None``: measured by pytest-mtp."""

    def segment(self, prompt_class: str) -> str:
        """Name of all runs that measured this class under the same circumstances, whatever the build."""
        prompt = self.classes[prompt_class].prompt if prompt_class in self.classes else ""
        told = json.dumps([self.facts, prompt, self.imported_from], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file of the history folder that is no run."""

    name: str
    why: str
    """A sentence."""


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """What a series is of; ``prompt_class`` is empty for a quantity of the whole flag set."""

    profile: str
    flag_set: str
    prompt_class: str
    metric: str
    """Value of a ``Metric``: a text, so that keys can be sorted."""

    def __str__(self) -> str:
        return "/".join(part for part in (self.profile, self.flag_set, self.prompt_class, self.metric) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One quantity in one run; only valid measurements become points."""

    run: str
    at: str
    build: str
    value: Value
    segment: str
    facts: dict[str, str]
    imported_from: str | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """The points of one quantity, oldest first."""

    key: Key
    points: tuple[Point, ...]

    @property
    def metric(self) -> Metric:
        """The quantity."""
        return Metric(self.key.metric)

    def segment(self, name: str) -> tuple[Point, ...]:
        """The points measured under the same circumstances, which alone are compared."""
        return tuple(point for point in self.points if point.segment == name)


def entries_of(run: str, report: RunReport) -> tuple[Entry, ...]:
    """What the history keeps of a report; a comparison of two builds is no night, and gives nothing."""
    return tuple(_entry(run, report, one) for one in report.judged if one.compared is None)


def series_of(entries: Iterable[Entry]) -> tuple[Series, ...]:
    """Every series, sorted by its key."""
    found: dict[Key, list[Point]] = defaultdict(list)
    for entry in sorted(entries, key=lambda one: (one.at, one.run)):
        for name, one in entry.classes.items():
            for metric, value in one.values.items():
                found[Key(entry.profile, entry.flag_set, name, metric.value)].append(_point(entry, name, value))
        if entry.memory is not None:
            key = Key(entry.profile, entry.flag_set, "", Metric.MEMORY.value)
            found[key].append(_point(entry, "", entry.memory))
    return tuple(Series(key, tuple(points)) for key, points in sorted(found.items()))


def changed_facts(then: Point, now: Point) -> str | None:
    """What else than the build changed between two points, in words; ``None`` where nothing did."""
    if then.segment == now.segment:
        return None
    names = sorted(then.facts.keys() | now.facts.keys())
    said = [
        f"{name} was {then.facts.get(name, 'unset')}, is {now.facts.get(name, 'unset')}"
        for name in names
        if then.facts.get(name) != now.facts.get(name)
    ]
    if then.imported_from != now.imported_from:
        said.append(f"measured by {now.imported_from or 'pytest-mtp'}, before by {then.imported_from or 'pytest-mtp'}")
    return ", ".join(said) or "another prompt"


def _entry(run: str, report: RunReport, judged: Judged) -> Entry:
    campaign, around = judged.campaign, judged.campaign.circumstances
    facts = {
        **report.machine,
        "model": around.model,
        "isolation": around.isolation,
        **{f"flags.{name}": value for name, value in around.flags.items()},
        **{f"request.{name}": value for name, value in around.request.items()},
    }
    outcomes = {result.prompt_class: result.speed.outcome for result in judged.results}
    classes = {
        name: ClassEntry(
            outcome=outcomes.get(name, Outcome.ERROR), values=_values(judged, name), prompt=around.prompts.get(name, "")
        )
        for name in campaign.classes
    }
    return Entry(
        run=run,
        at=report.created_at,
        profile=report.profile,
        flag_set=campaign.flag_set,
        build=around.build_label,
        facts=facts,
        classes=classes,
        memory=_memory(judged),
    )


def _values(judged: Judged, prompt_class: str) -> dict[Metric, Value]:
    campaign = judged.campaign
    if campaign.failures or len(campaign.valid) < FEWEST_BLOCKS:
        return {}
    found = factors(campaign, prompt_class)
    return {} if found is None else _of_factors(found)


def _of_factors(found: Factors) -> dict[Metric, Value]:
    timed = {
        Metric.SPEEDUP: found.speedup,
        Metric.STEP_COST: found.step_cost,
        Metric.PLAIN_TPS: found.plain_tps,
        Metric.MTP_TPS: found.mtp_tps,
        Metric.PROMPT_TPS: found.prompt_tps,
    }
    values = {metric: _value(one) for metric, one in timed.items() if one.blocks}
    return values if found.acceptance is None else {**values, Metric.TAU: Value(found.acceptance.tau)}


def _value(estimate: Estimate) -> Value:
    return Value(estimate.ratio, *estimate.interval(_LEVEL))


def _memory(judged: Judged) -> Value | None:
    """The most that an mtp arm took; a log says it, and no CPU has it."""
    told: Sequence[int] = [
        start.device_bytes
        for block in judged.campaign.valid
        for start in block.starts
        if start.arm is Arm.MTP and start.device_bytes is not None
    ]
    return Value(float(max(told))) if any(told) else None


def _point(entry: Entry, prompt_class: str, value: Value) -> Point:
    return Point(
        run=entry.run,
        at=entry.at,
        build=entry.build,
        value=value,
        segment=entry.segment(prompt_class),
        facts=entry.facts,
        imported_from=entry.imported_from,
    )
