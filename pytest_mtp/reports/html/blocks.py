"""The blocks in the order of time: each class's speed against its own mean, and what the machine did meanwhile."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from pytest_mtp.core.run_report import Judged
from pytest_mtp.core.sample import Block, Start
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.speedup import Estimate, faster, speedup
from pytest_mtp.core.telemetry import Telemetry
from pytest_mtp.reports.html.numeral import NONE, change, number, share, times

_LEAST = 0.02
"""A quiet campaign is not blown up until its noise fills the chart: the scale is never finer than this share."""
_TALL = 32.0
"""Pixels of a strip between its extremes."""


@dataclass(frozen=True, slots=True)
class Dot:
    """One block in a strip: percent of the width, pixels of the height."""

    x: float
    y: float
    title: str
    arm: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One quantity over the blocks."""

    name: str
    note: str
    """At the right of it: its spread, or its range."""
    dots: tuple[Dot, ...]

    @property
    def line(self) -> str:
        """The points of its line, for dots of one arm; x from 0 to 100."""
        return " ".join(f"{dot.x:g},{dot.y:g}" for dot in self.dots)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """What the template draws."""

    quantity: str
    """What was taken in each block."""
    scale: str
    classes: tuple[Strip, ...]
    machine: tuple[Strip, ...]
    void: tuple[Dot, ...]
    """Blocks that do not count, with the reason."""
    numbers: tuple[tuple[float, str], ...]
    width: float
    """Of one block, in percent."""
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """The table."""
    summary: str

    @property
    def by_arm(self) -> bool:
        """Whether the machine was watched arm by arm."""
        return any(dot.arm for strip in self.machine for dot in strip.dots)


def chart(judged: Judged) -> Chart | None:
    """The chart of a campaign; ``None`` where it has no block."""
    blocks = judged.campaign.blocks
    if not blocks:
        return None
    taken = _taken(judged)
    scale = max([_LEAST, *(abs(log - one.log_mean) for one in taken.values() for log in one.logs)])
    places = [round((index + 0.5) / len(blocks) * 100, 2) for index in range(len(blocks))]
    counted = [place for place, block in zip(places, blocks, strict=True) if block.invalid is None]
    numbers = tuple((place, str(block.index + 1)) for place, block in zip(places, blocks, strict=True))
    machine = tuple(_machine(blocks, places))
    paired = judged.compared is not None and judged.compared.paired
    told = change if paired else times
    return Chart(
        quantity="the head's mtp tok/s over the base's" if paired else "the speedup",
        scale=f"±{math.expm1(scale):.1%}",
        classes=tuple(_strip(name, one, counted, scale, told) for name, one in taken.items() if one.blocks),
        machine=machine,
        void=tuple(
            Dot(place, 0.0, f"block {block.index + 1} does not count: {block.invalid}")
            for place, block in zip(places, blocks, strict=True)
            if block.invalid is not None
        ),
        numbers=numbers,
        width=round(100 / len(blocks), 3),
        heads=("block", "order", *taken, *(strip.name for strip in machine)),
        rows=tuple(_rows(blocks, taken, told)),
        summary="; ".join(f"{name}: spread of a block {share(one.log_sd)}" for name, one in taken.items()),
    )


def _taken(judged: Judged) -> dict[str, Estimate]:
    """What the blocks of each class say; of two builds in the same blocks, how they differ."""
    campaign, compared = judged.campaign, judged.compared
    if not campaign.valid:
        return {}
    if compared is not None and compared.paired and len(compared.base.valid) == len(campaign.valid):
        return {name: faster(campaign, compared.base, Arm.MTP, name) for name in campaign.classes}
    return {name: speedup(campaign, name) for name in campaign.classes}


def _strip(name: str, one: Estimate, places: list[float], scale: float, told: Callable[[float], str]) -> Strip:
    dots = tuple(
        Dot(place, round(_TALL / 2 * (1 - (log - one.log_mean) / scale), 2), f"{name}: {told(math.exp(log))}")
        for place, log in zip(places, one.logs, strict=True)
    )
    return Strip(name=name, note=f"sd {share(one.log_sd)}", dots=dots)


def _rows(
    blocks: tuple[Block, ...], taken: dict[str, Estimate], told: Callable[[float], str]
) -> Iterator[tuple[str, ...]]:
    """The table: what does not count says why."""
    counted = 0
    for block in blocks:
        order = ", ".join(arm.value for arm in block.order)
        machine = (" / ".join(values) for _, values in _quantities(block, blocks))
        if block.invalid is None:
            values = [told(math.exp(one.logs[counted])) for one in taken.values()]
            counted += 1
        else:
            values = [f"does not count: {block.invalid}", *[""] * (len(taken) - 1)][: len(taken)]
        yield (str(block.index + 1), order, *values, *machine)


@dataclass(frozen=True, slots=True)
class _Quantity:
    name: str
    read: Callable[[Telemetry], float | None]
    places: int = 0


_TELEMETRY = (
    _Quantity("core clock, MHz", lambda one: one.sm_clock_mhz),
    _Quantity("memory clock, MHz", lambda one: one.memory_clock_mhz),
    _Quantity("temperature, °C", lambda one: one.temperature_peak_c),
    _Quantity("power, W", lambda one: one.power_w),
)
_BANDWIDTH = "memory read, GB/s"


def _read(quantity: _Quantity, start: Start) -> float | None:
    return None if start.telemetry is None else quantity.read(start.telemetry)


def _told(quantity: _Quantity, blocks: Iterable[Block]) -> bool:
    return any(_read(quantity, start) is not None for block in blocks for start in block.starts)


def _quantities(block: Block, blocks: tuple[Block, ...]) -> Iterator[tuple[str, list[str]]]:
    """Of one block what the machine did, for each quantity that any block tells: plain, then mtp."""
    starts = sorted(block.starts, key=lambda start: list(Arm).index(start.arm))
    for one in _TELEMETRY:
        if _told(one, blocks):
            yield one.name, [number(_read(one, start), one.places) for start in starts] or [NONE]
    if any(each.memory_bandwidth for each in blocks):
        yield _BANDWIDTH, [number(block.memory_bandwidth / 1e9 if block.memory_bandwidth else None, 1)]


def _machine(blocks: tuple[Block, ...], places: list[float]) -> Iterator[Strip]:
    """Strips beneath the classes: both arms' clocks, temperature and power, and the memory of a machine."""
    for one in _TELEMETRY:
        told = [
            (place, start.arm.value, value)
            for place, block in zip(places, blocks, strict=True)
            for start in block.starts
            if (value := _read(one, start)) is not None
        ]
        if told:
            yield _scaled(one.name, told, one.places)
    bandwidth = [
        (place, "", block.memory_bandwidth / 1e9)
        for place, block in zip(places, blocks, strict=True)
        if block.memory_bandwidth
    ]
    if bandwidth:
        yield _scaled(_BANDWIDTH, bandwidth, 1)


def _scaled(name: str, told: list[tuple[float, str, float]], places: int) -> Strip:
    low, high = min(value for *_, value in told), max(value for *_, value in told)
    reach = (high - low) or 1.0
    dots = tuple(
        Dot(place, round(_TALL * (1 - (value - low) / reach), 2), f"{arm} {name}: {value:.{places}f}".strip(), arm)
        for place, arm, value in told
    )
    note = f"{low:.{places}f}" if low == high else f"{low:.{places}f} to {high:.{places}f}"
    return Strip(name=name, note=note, dots=dots)
