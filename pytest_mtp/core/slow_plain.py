"""Why a plain arm is slower than it could be, from what was recorded while it was measured.

The questions that owners of a card ask first. They judge nothing: a gate compares with a baseline of the same machine.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Final

from pytest_mtp.core.amount import memory_amount
from pytest_mtp.core.environment import memory_bandwidth
from pytest_mtp.core.finding import Finding, State
from pytest_mtp.core.sample import Campaign, Start
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.telemetry import Telemetry, Throttle
from pytest_mtp.core.validity import HARMFUL

_HEALTHY_SHARE: Final = 0.55
"""Of the bandwidth: a 27B in Q4_K_M reaches 0.68 of an RTX 3090's 936 GB/s (38.86 tok/s, the tutorial)."""
_OFTEN: Final = 0.1
"""A share of the readings that is more than an accident."""


@dataclass(frozen=True, slots=True)
class _Case:
    campaign: Campaign
    starts: tuple[Start, ...]
    """Those of the plain arm, of every block that got so far."""

    @property
    def telemetry(self) -> tuple[Telemetry, ...]:
        return tuple(start.telemetry for start in self.starts if start.telemetry is not None)

    def tps(self) -> float | None:
        """The middle of all measured tok/s."""
        rates = [sample.timings.tps for start in self.starts for sample in start.samples]
        return median(rates) if rates else None


def slow_plain(campaign: Campaign) -> tuple[Finding, ...]:
    """What was recorded that can slow a plain arm, and what was looked at and found sound."""
    starts = tuple(start for block in campaign.blocks for start in block.starts if start.arm is Arm.PLAIN)
    if not starts:
        return (Finding(State.NOTE, "plain", "no start of the plain arm was recorded"),)
    case = _Case(campaign, starts)
    return tuple(finding for look in _LOOKS for finding in look(case))


def _layers(case: _Case) -> Iterator[Finding]:
    told = [start.offloaded for start in case.starts if start.offloaded is not None]
    if not told:
        return
    placed, there = min(told)
    if placed >= there:
        yield Finding(State.HAVE, "layers", f"all {there} layers are on the card")
        return
    said = (
        f"{there - placed} of {there} layers are computed by the CPU; mend: server.gpu_layers = 99, or a smaller model"
    )
    yield Finding(State.LACK, "layers", said)


def _bandwidth(case: _Case) -> Iterator[Finding]:
    circumstances, tps = case.campaign.circumstances, case.tps()
    read, able = circumstances.bytes_per_token, memory_bandwidth(case.campaign)
    if tps is None or not read:
        return
    reached = tps * read
    said = f"{tps:.1f} tok/s read {memory_amount(read)} of weights each: {reached / 1e9:.0f} GB/s"
    if not able:
        yield Finding(State.NOTE, "bandwidth", f"{said}; what the memory is able to is not told")
        return
    share = f"{said}, {reached / able:.0%} of {able / 1e9:.0f} GB/s"
    if reached >= able * _HEALTHY_SHARE:
        yield Finding(State.HAVE, "bandwidth", share)
    else:
        yield Finding(
            State.LACK, "bandwidth", f"{share}; a sound card reaches {_HEALTHY_SHARE:.0%} and more: see below"
        )


def _power(case: _Case) -> Iterator[Finding]:
    share = _share(case, Throttle.POWER_CAP)
    if share is None:
        return
    watts = [told.power_w for told in case.telemetry if told.power_w is not None]
    at = f" at {median(watts):.0f} W" if watts else ""
    if share < _OFTEN:
        yield Finding(State.HAVE, "power", f"the power limit held the card back in {share:.0%} of the readings{at}")
        return
    said = f"the power limit held the card back in {share:.0%} of the readings{at}; mend: sudo nvidia-smi -pl WATTS"
    yield Finding(State.NOTE, "power", said)


def _heat(case: _Case) -> Iterator[Finding]:
    peaks = [told.temperature_peak_c for told in case.telemetry if told.temperature_peak_c is not None]
    at = f" at up to {max(peaks):.0f} °C" if peaks else ""
    worst = max(((_share(case, reason) or 0.0, reason) for reason in HARMFUL), key=lambda one: one[0])
    if worst[0]:
        said = f"{worst[1].value} in {worst[0]:.0%} of the readings{at}; mend: cool the card, or lower its power limit"
        yield Finding(State.LACK, "heat", said)
    elif peaks:
        yield Finding(State.HAVE, "heat", f"no thermal slowdown{at}")


def _share(case: _Case, reason: Throttle) -> float | None:
    """The largest share of a start's readings with that reason; ``None`` where reasons were not told."""
    told = [one.held_back(reason) for one in case.telemetry if "throttle" not in one.lacking and one.looks]
    return max(told) if told else None


def _slots(case: _Case) -> Iterator[Finding]:
    slots = case.campaign.circumstances.flags.get("parallel", "1")
    if slots != "1":
        said = f"{slots} slots share context and batches, also for a single request; mend: server.parallel = 1 (-np 1)"
        yield Finding(State.NOTE, "slots", said)
    else:
        said = "one slot (a llama-server started by hand has several unless -np 1 is given)"
        yield Finding(State.HAVE, "slots", said)


def _spill(case: _Case) -> Iterator[Finding]:
    total = case.campaign.circumstances.card_memory_bytes
    taken = [start.device_bytes for start in case.starts if start.device_bytes is not None]
    mapped = [told.gtt_bytes.peak for told in case.telemetry if told.gtt_bytes is not None]
    if not total or not taken:
        return
    said = f"the server takes {memory_amount(max(taken))} of the card's {memory_amount(total)}"
    if max(taken) > total:
        mend = "the rest lies in system memory; mend: a shorter context (server.ctx) or a smaller quantization"
        yield Finding(State.LACK, "spill", f"{said}: {mend}")
    else:
        beside = f"; {memory_amount(max(mapped))} of system memory are mapped beside it" if mapped else ""
        yield Finding(State.HAVE, "spill", said + beside)


def _debug(case: _Case) -> Iterator[Finding]:
    if any(start.debug_build for start in case.starts):
        said = "llama.cpp was compiled without optimization; mend: CMAKE_BUILD_TYPE=Release, which --mtp-source does"
        yield Finding(State.LACK, "build", said)
    else:
        yield Finding(State.HAVE, "build", "compiled with optimization, as far as its log tells")


_LOOKS: tuple[Callable[[_Case], Iterator[Finding]], ...] = (_bandwidth, _layers, _power, _heat, _slots, _spill, _debug)
