"""Whether the machine itself was poorer than when the baseline was recorded: then a slow engine is no finding."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from pytest_mtp.core.change import Change
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.speedup import FEWEST_BLOCKS, Estimate

_NOISE = 0.03
"""A share that a clock or a bandwidth may differ by without meaning anything."""
_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Poorer:
    """What of the machine is less than it was."""

    lost: float
    """As a share: of a clock as read, of a measured bandwidth as much as its readings prove."""
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


def memory_bandwidth(campaign: Campaign) -> float | None:
    """Bytes per second of the memory that holds the weights.

    A card's is what it is made for; a machine's the geometric mean of what it gave before each block.
    """
    made_for = campaign.circumstances.memory_bandwidth
    read = _readings(campaign)
    return made_for or (read.ratio if read.blocks else None)


def _bandwidth(now: Campaign, then: Campaign) -> Iterator[Poorer]:
    """One reading differs from the next by a half where neighbours share the memory: the excuse must be proven."""
    change = Change(_readings(then), _readings(now))
    if min(change.then.blocks, change.now.blocks) >= FEWEST_BLOCKS:
        is_fast, was_fast = change.now.ratio / 1e9, change.then.ratio / 1e9
        said = f"this machine reads its memory at {is_fast:.1f} GB/s, at {was_fast:.1f} GB/s when recorded"
        yield Poorer(1 - change.interval(_LEVEL)[1], said)


def _readings(campaign: Campaign) -> Estimate:
    """What the machine's memory gave before each block that counts."""
    told = (block.memory_bandwidth for block in campaign.valid)
    return Estimate(tuple(math.log(one) for one in told if one))
