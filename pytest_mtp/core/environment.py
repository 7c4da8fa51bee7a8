"""Whether the machine itself was poorer than when the baseline was recorded: then a slow engine is no finding."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from pytest_mtp.core.sample import Campaign

_NOISE = 0.03
"""A share that a clock or a measured bandwidth may differ by without meaning anything."""


@dataclass(frozen=True, slots=True)
class Poorer:
    """What of the machine is less than it was."""

    lost: float
    """As a share."""
    said: str


def poorer_machine(now: Campaign, then: Campaign) -> Poorer | None:
    """The largest loss of the machine itself, by its card's clock and by its memory; ``None`` where none is told."""
    found = [one for one in (*_clock(now, then), *_bandwidth(now, then)) if one.lost > _NOISE]
    return max(found, key=lambda one: one.lost, default=None)


def _clock(now: Campaign, then: Campaign) -> Iterator[Poorer]:
    is_mhz, was_mhz = _median_clock(now), _median_clock(then)
    if is_mhz is not None and was_mhz is not None:
        yield Poorer(1 - is_mhz / was_mhz, f"the card ran at {is_mhz:.0f} MHz, at {was_mhz:.0f} MHz when recorded")


def _median_clock(campaign: Campaign) -> float | None:
    told = [start.telemetry for block in campaign.valid for start in block.starts if start.telemetry is not None]
    clocks = [one.sm_clock_mhz for one in told if one.sm_clock_mhz is not None]
    return median(clocks) if clocks else None


def _bandwidth(now: Campaign, then: Campaign) -> Iterator[Poorer]:
    is_fast, was_fast = now.circumstances.memory_bandwidth, then.circumstances.memory_bandwidth
    if is_fast and was_fast:
        said = f"this machine reads its memory at {is_fast / 1e9:.1f} GB/s, at {was_fast / 1e9:.1f} GB/s when recorded"
        yield Poorer(1 - is_fast / was_fast, said)
