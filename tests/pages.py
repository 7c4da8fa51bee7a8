"""Reports and histories made of numbers, for tests of the HTML page."""

import math
import random
from dataclasses import replace
from datetime import date, timedelta

from pytest_mtp.core.baseline import Recorded
from pytest_mtp.core.history import Key, Metric, Point, Series, Value
from pytest_mtp.core.history_verdict import Acknowledgement, HistoryVerdict, LevelChange, Surprise
from pytest_mtp.core.profile import Gate, Reference
from pytest_mtp.core.run_report import REPORT_VERSION, Judged, RunReport
from pytest_mtp.core.sample import Block, Campaign, Start
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.telemetry import Reading, Telemetry, TelemetrySource
from tests.campaigns import campaign

CLASSES = {
    "code": 2.31, "json": 2.12, "translation": 1.71, "summary": 1.64, "chat": 1.48,
    "reasoning": 1.39, "story": 1.22, "poetry": 1.04, "noise": 0.86,
}  # fmt: skip
_BASE = {
    Metric.TAU: 2.9, Metric.STEP_COST: 1.4, Metric.PLAIN_TPS: 38.0, Metric.MTP_TPS: 70.0,
    Metric.PROMPT_TPS: 910.0, Metric.MEMORY: 21.3 * 2**30,
}  # fmt: skip
_COMMAND = (
    "/opt/llama.cpp/bin/llama-server -m '/models/a model.gguf' -c 8192 -ngl 99 -np 1 -fit off -fa on --temp -1 "
    "--metrics --host 127.0.0.1 --api-key-file /tmp/key --port 41234"
)


def measured(blocks: int = 8, slower: float = 1.0, seed: int = 1) -> Campaign:
    """Nine classes on a card that gets warm, with drafts counted by place; ``slower`` stretches the first class."""
    noise = random.Random(seed)
    speedups = {
        name: [center / (slower if name == "code" else 1) * math.exp(noise.gauss(0, 0.006)) for _ in range(blocks)]
        for name, center in CLASSES.items()
    }
    accepted = {name: 67 - 5 * place for place, name in enumerate(CLASSES)}
    one = campaign(speedups, accepted=accepted)
    return replace(one, blocks=tuple(_warm(block) for block in one.blocks))


def _warm(block: Block) -> Block:
    return replace(block, starts=tuple(_watched(start, block.index) for start in block.starts))


def _watched(start: Start, index: int) -> Start:
    mtp = start.arm is Arm.MTP
    telemetry = Telemetry(
        source=TelemetrySource.NVML,
        sm_clock_mhz=1905 - 15 * min(index, 4) - 30 * mtp,
        temperature_peak_c=58 + 2.5 * index + mtp,
        power_w=331 - 12 * mtp + index,
        throttle={"power cap": 0.25},
        readings=(Reading(t_s=0.5, power_w=331), Reading(t_s=1.5, power_w=330)),
    )
    samples = tuple(
        replace(one, accepted_per_position=_places(one.timings.draft_n_accepted) if mtp else None)
        for one in start.samples
    )
    command = _COMMAND + " --spec-type draft-mtp" * mtp
    return replace(start, command=command, telemetry=telemetry, samples=samples, log_tail="srv  loaded in 4 s\n" * 5)


def _places(accepted: int) -> tuple[int, ...]:
    first, second = math.ceil(accepted * 0.4), math.floor(accepted * 0.33)
    return first, second, accepted - first - second


def report(head: Campaign | None = None) -> RunReport:
    """A night of a gate whose first class lost speed to a dearer step, against three sessions on record."""
    sessions = tuple(
        Recorded(f"2026-0{month}-01T03:00:00+00:00", "pytest-mtp 0.1.0", measured(seed=month)) for month in (3, 4, 5)
    )
    floors = dict.fromkeys(("code", "json"), 1.5)
    references = {"code": Reference(low=2.0, high=2.5, source="a table that somebody published")}
    lost = head or measured(slower=1.13, seed=7)
    judged = Judged(campaign=lost, gate=Gate(), sessions=sessions, floors=floors, references=references).rejudged()
    machine = {"gpu": "NVIDIA GeForce RTX 3090", "driver": "570.86", "cpu": "AMD Ryzen 9 5900X", "cores": "12"}
    return RunReport(
        version=REPORT_VERSION, created_at="2026-12-02T03:14:15+00:00", tool="pytest-mtp 0.1.0",
        profile="rtx3090-qwen3.6-27b", machine=machine, judged=(judged,),
    )  # fmt: skip


def nights(count: int = 365, classes: int = 9) -> tuple[Series, ...]:
    """Every quantity of every class over as many nights; the driver changes once, and the first class twice."""
    names = list(CLASSES)[:classes]
    whole = _series("", Metric.MEMORY, count)
    return (
        *(_series(name, metric, count) for name in names for metric in Metric if metric is not Metric.MEMORY),
        whole,
    )


def _series(name: str, metric: Metric, count: int) -> Series:
    center = CLASSES[name] if metric is Metric.SPEEDUP else _BASE[metric]
    noise = random.Random(f"{name}/{metric.value}")
    points = []
    for night in range(count):
        value = center * _level(name, metric, night, count) * math.exp(noise.gauss(0, 0.008))
        points.append(_point(night, count, value))
    return Series(Key("rtx3090-qwen3.6-27b", "n3", name, metric.value), tuple(points))


def _level(name: str, metric: Metric, night: int, count: int) -> float:
    if name != "code" or metric not in {Metric.SPEEDUP, Metric.STEP_COST, Metric.MTP_TPS}:
        return 1.0
    level = 1.0 + 0.06 * (night >= count * 0.45) - 0.11 * (night >= count * 0.93)
    return 1 / level if metric is Metric.STEP_COST else level


def day(night: int, count: int) -> str:
    """When the n-th of so many nights was; the last is the report's."""
    return f"{date(2026, 12, 2) - timedelta(days=count - 1 - night)}T03:14:15+00:00"


def _point(night: int, count: int, value: float) -> Point:
    driver = "570.86" if night >= count * 0.25 else "565.57"
    return Point(
        run=f"night-{night:04}",
        at=day(night, count),
        build=f"b{11000 + night}",
        value=Value(value, value * 0.985, value * 1.015),
        segment=driver,
        facts={"driver": driver, "gpu": "NVIDIA GeForce RTX 3090"},
    )


def spoken(count: int = 365) -> HistoryVerdict:
    """What such nights say: a gain in the middle, a loss near the end, and a newest run that surprises."""
    key = Key("rtx3090-qwen3.6-27b", "n3", "code", Metric.SPEEDUP.value)
    gain, loss = (math.ceil(count * share) for share in (0.45, 0.93))
    seen = Acknowledgement(series=str(key), run=f"night-{gain:04}", reason="a new kernel", who="ada")
    changes = (
        _change(key, gain, count, (2.31, 2.45), seen),
        _change(key, loss, count, (2.45, 2.20), None),
    )
    surprise = Surprise(
        key=replace(key, prompt_class="json"), run=f"night-{count - 1:04}", at=day(count - 1, count),
        build="b11364", value=2.12, low=2.14, high=2.2, mean=2.17, loss=True, recurs=False,
    )  # fmt: skip
    reason = f"{key}: 2.45x to 2.20x (-10.2%) since b{11000 + loss}, which nobody acknowledged"
    return HistoryVerdict(
        run=f"night-{count - 1:04}", changes=changes, surprises=(surprise,), reasons=(reason,),
        notices=("prompt tok/s of noise has too few runs under these circumstances to be judged",),
    )  # fmt: skip


def _change(key: Key, night: int, count: int, levels: tuple[float, float], seen: Acknowledgement | None) -> LevelChange:
    before, after = levels
    return LevelChange(
        key=key, run=f"night-{night:04}", at=day(night, count), build=f"b{11000 + night}",
        last_run=f"night-{night - 1:04}", last_build=f"b{11000 + night - 1}", before=before, after=after, p=0.0004,
        runs_after=count - night, loss=after < before, acknowledged=seen,
    )  # fmt: skip
