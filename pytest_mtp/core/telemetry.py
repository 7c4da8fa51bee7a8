"""What a card did while it was measured: single readings, and what they come to for one start.

Every reading is optional: a card, a driver or a container that does not tell one leaves it ``None``.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from itertools import pairwise
from statistics import median
from typing import Final

from pytest_mtp.core.card import CardProcess

KEPT_READINGS: Final = 16
"""Single readings stored of each start; what is computed from them uses all."""


class Throttle(Enum):
    """Why a card ran below the clock that it was free to run at."""

    IDLE = "idle"
    APPLICATION_CLOCKS = "application clocks"
    POWER_CAP = "power cap"
    HARDWARE_SLOWDOWN = "hardware slowdown"
    SYNC_BOOST = "sync boost"
    THERMAL = "thermal slowdown by the driver"
    HARDWARE_THERMAL = "thermal slowdown by the hardware"
    POWER_BRAKE = "power brake"
    DISPLAY_CLOCKS = "display clocks"
    BOARD_LIMIT = "board limit"
    RELIABILITY = "voltage limit"


class TelemetrySource(Enum):
    """Who was asked about the card."""

    NVML = "nvml"
    SYSFS = "sysfs"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One look at the cards in use; of several cards the sum, the hottest or the slowest."""

    t_s: float = 0.0
    """Since the watch began."""
    temperature_c: float | None = None
    power_w: float | None = None
    energy_counter_j: float | None = None
    """The card's own counter: only differences mean something."""
    sm_clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    utilization: float | None = None
    """Share of the time in which a kernel ran, 0 to 1."""
    memory_used_bytes: int | None = None
    """By all processes together, the driver included."""
    gtt_used_bytes: int | None = None
    """System memory that the card has mapped (AMD): what does not fit on the card goes there."""
    throttle: frozenset[Throttle] | None = None
    foreign: tuple[CardProcess, ...] | None = None
    """Processes that compute on the cards and are none of ours."""
    rss_bytes: int | None = None
    """Memory of the server's process on the host."""


OPTIONAL_READINGS: Final = tuple(one.name for one in fields(Reading) if one.name != "t_s")


@dataclass(frozen=True, slots=True)
class Level:
    """How an amount of bytes went over a start: at its start, at its highest, at its end."""

    start: int
    peak: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """The cards during the measured requests of one start; ``None`` and empty are what was not told."""

    source: TelemetrySource
    looks: int = 0
    """Readings taken inside requests, between those at their edges."""
    sm_clock_mhz: float | None = None
    """Median, as is the memory clock's."""
    sm_clock_low_mhz: float | None = None
    memory_clock_mhz: float | None = None
    temperature_peak_c: float | None = None
    power_w: float | None = None
    """Mean."""
    energy_j: float | None = None
    """Of the cards during the requests: by their counter, else by their power over time."""
    utilization: float | None = None
    memory_bytes: Level | None = None
    gtt_bytes: Level | None = None
    rss_bytes: Level | None = None
    throttle: dict[str, float] = field(default_factory=dict)
    """Share of the readings with each reason (the values of ``Throttle``) that occurred."""
    foreign: tuple[CardProcess, ...] = ()
    lacking: tuple[str, ...] = ()
    """Names of the readings that were never told."""
    failed_reads: int = 0
    readings: tuple[Reading, ...] = ()
    """A few of them, evenly chosen."""

    def held_back(self, reason: Throttle) -> float:
        """The share of the readings in which the card was held back for this reason."""
        return self.throttle.get(reason.value, 0.0)


def telemetry(source: TelemetrySource, requests: Sequence[Sequence[Reading]], *, failed_reads: int = 0) -> Telemetry:
    """What the readings of one start come to; each request's begin and end with one at its very edges."""
    everything = [reading for request in requests for reading in request]
    # At the edges the card is idle: they tell amounts, not speeds.
    inside = [reading for request in requests for reading in request[1:-1]]
    clocks, power = _told(inside, "sm_clock_mhz"), _told(inside, "power_w")
    temperatures, busy = _told(everything, "temperature_c"), _told(inside, "utilization")
    return Telemetry(
        source=source,
        looks=len(inside),
        sm_clock_mhz=_applied(median, clocks),
        sm_clock_low_mhz=_applied(min, clocks),
        memory_clock_mhz=_applied(median, _told(inside, "memory_clock_mhz")),
        temperature_peak_c=_applied(max, temperatures),
        power_w=_applied(_mean, power),
        energy_j=_energy_j(requests),
        utilization=_applied(_mean, busy),
        memory_bytes=_level(_told(everything, "memory_used_bytes")),
        gtt_bytes=_level(_told(everything, "gtt_used_bytes")),
        rss_bytes=_level(_told(everything, "rss_bytes")),
        # Requests too short for a look inside are still told of a card that protects itself.
        throttle=_throttle_shares(inside or everything),
        foreign=_strangers(everything),
        lacking=tuple(name for name in OPTIONAL_READINGS if all(getattr(one, name) is None for one in everything)),
        failed_reads=failed_reads,
        readings=thinned(everything),
    )


def thinned(readings: Sequence[Reading], most: int = KEPT_READINGS) -> tuple[Reading, ...]:
    """At most ``most`` of the readings, evenly chosen, the first and the last among them."""
    if len(readings) <= most:
        return tuple(readings)
    return tuple(readings[round(place * (len(readings) - 1) / (most - 1))] for place in range(most))


def combined(readings: Sequence[Reading]) -> Reading:
    """One reading of several cards: amounts add up, the hottest and the slowest stand for all.

    What one of them does not tell is not told; without a card nothing is.
    """
    if len(readings) <= 1:
        return readings[0] if readings else Reading()
    return Reading(
        t_s=readings[0].t_s,
        temperature_c=_of_all(readings, "temperature_c", max),
        power_w=_of_all(readings, "power_w", sum),
        energy_counter_j=_of_all(readings, "energy_counter_j", sum),
        sm_clock_mhz=_of_all(readings, "sm_clock_mhz", min),
        memory_clock_mhz=_of_all(readings, "memory_clock_mhz", min),
        utilization=_of_all(readings, "utilization", _mean),
        memory_used_bytes=_summed_bytes(readings, "memory_used_bytes"),
        gtt_used_bytes=_summed_bytes(readings, "gtt_used_bytes"),
        throttle=_joined([reading.throttle for reading in readings]),
        foreign=_joined_processes([reading.foreign for reading in readings]),
    )


def _told(readings: Iterable[Reading], name: str) -> list[float]:
    return [value for reading in readings if (value := getattr(reading, name)) is not None]


def _applied(measure: Callable[[list[float]], float], values: list[float]) -> float | None:
    return measure(values) if values else None


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _level(values: list[float]) -> Level | None:
    return Level(int(values[0]), int(max(values)), int(values[-1])) if values else None


def _throttle_shares(readings: Sequence[Reading]) -> dict[str, float]:
    told = [reading.throttle for reading in readings if reading.throttle is not None]
    seen = sorted({reason.value for reasons in told for reason in reasons})
    return {value: sum(Throttle(value) in reasons for reasons in told) / len(told) for value in seen}


def _strangers(readings: Sequence[Reading]) -> tuple[CardProcess, ...]:
    """Every foreign process once, as it was seen last."""
    return tuple({one.pid: one for reading in readings for one in reading.foreign or ()}.values())


def _energy_j(requests: Sequence[Sequence[Reading]]) -> float | None:
    """The energy of all requests; ``None`` unless it can be told of each."""
    by_counter = [_counted_j(request) for request in requests]
    each = by_counter if None not in by_counter else [_integrated_j(request) for request in requests]
    told = [energy for energy in each if energy is not None]
    return sum(told) if told and len(told) == len(each) else None


def _counted_j(request: Sequence[Reading]) -> float | None:
    counts = _told(request, "energy_counter_j")
    return counts[-1] - counts[0] if len(counts) > 1 else None


def _integrated_j(request: Sequence[Reading]) -> float | None:
    told = [(reading.t_s, reading.power_w) for reading in request if reading.power_w is not None]
    steps = [(after - before) * (then + now) / 2 for (before, then), (after, now) in pairwise(told)]
    return sum(steps) if steps else None


def _of_all(readings: Sequence[Reading], name: str, join: Callable[[list[float]], float]) -> float | None:
    values = _told(readings, name)
    return join(values) if len(values) == len(readings) else None


def _summed_bytes(readings: Sequence[Reading], name: str) -> int | None:
    total = _of_all(readings, name, sum)
    return None if total is None else int(total)


def _joined(sets: Sequence[frozenset[Throttle] | None]) -> frozenset[Throttle] | None:
    told = [one for one in sets if one is not None]
    return frozenset().union(*told) if len(told) == len(sets) else None


def _joined_processes(sets: Sequence[tuple[CardProcess, ...] | None]) -> tuple[CardProcess, ...] | None:
    told = [one for one in sets if one is not None]
    return tuple(process for one in told for process in one) if len(told) == len(sets) else None
