"""Whether the circumstances of a block let its numbers count: a throttled, shared or spilled card does not.

One function per rule. A rule that lacks a reading says nothing: less is known then, not less is true.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Final

from pytest_mtp.core.amount import memory_amount
from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.isolation import Isolation
from pytest_mtp.core.sample import Start
from pytest_mtp.core.telemetry import Throttle

HARMFUL: Final = (
    Throttle.HARDWARE_THERMAL,
    Throttle.THERMAL,
    Throttle.POWER_BRAKE,
    Throttle.HARDWARE_SLOWDOWN,
)
"""Reasons by which a card protects itself."""
_CLOCK_SHARE: Final = 0.02
"""A difference of median clocks, as a share, that is more than the steps in which clocks are set."""
_FEWEST_LOOKS: Final = 5
"""Below it a median clock is chance."""
_OFTEN: Final = 0.5
"""A share of the readings from which on the power limit is what sets an arm's clock."""
_FULL: Final = 0.995
"""A share of a card's memory from which on there is no room for another buffer."""
_SPILLED_GTT_BYTES: Final = 2**30
"""Of mapped system memory: what a server keeps there on purpose is a few hundred MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What a block was meant to be measured under; the defaults are those of a CPU, where few rules speak."""

    backend: Backend = Backend.CPU
    gpu_layers: int = 0
    """Layers asked for on the cards, of both arms."""
    isolation: Isolation = Isolation.ALTERNATE
    card_memory_bytes: int | None = None
    """Of all cards in use."""
    may_spill: bool = False
    """Whether the driver moves to system memory what does not fit on a card."""
    locked_mhz: int | None = None
    """The clock that the cards were locked to; ``None`` where that was not asked for."""


Rule = Callable[[Sequence[Start], Conditions], str | None]


def invalid_reason(starts: Sequence[Start], conditions: Conditions) -> str | None:
    """The first reason why the block of these starts does not count; ``None``: it does."""
    return next((reason for rule in RULES if (reason := rule(starts, conditions)) is not None), None)


def not_on_the_card(starts: Sequence[Start], conditions: Conditions) -> str | None:
    """A build for a card that computes on the CPU: its library is missing, or it found no card."""
    if conditions.backend is Backend.CPU or conditions.gpu_layers == 0:
        return None
    for start in starts:
        if start.offloaded is None or start.offloaded[0] == 0:
            return (
                f"the {start.arm.value} server put no layer on a card and computed on the CPU: the build lacks "
                f"{conditions.backend.value} or found no card with it (see its log)"
            )
    return None


def fewer_layers(starts: Sequence[Start], conditions: Conditions) -> str | None:
    """Layers on the card that are fewer than asked for; more than the model has means all."""
    if conditions.backend is Backend.CPU:
        return None
    for start in starts:
        if start.offloaded is None:
            continue
        placed, there = start.offloaded
        wanted = min(conditions.gpu_layers, there)
        if placed < wanted:
            return f"the {start.arm.value} server put {placed} of {there} layers on the card, {wanted} were asked for"
    return None


def foreign_process(starts: Sequence[Start], _: Conditions) -> str | None:
    """A process that is none of ours computed on the card."""
    for start in starts:
        if start.telemetry is not None and start.telemetry.foreign:
            named = " and ".join(map(str, start.telemetry.foreign))
            return f"the card was shared with {named} while the {start.arm.value} arm was measured; end it first"
    return None


def throttled(starts: Sequence[Start], _: Conditions) -> str | None:
    """The card protected itself; its power limit is no such thing, a card at full load runs into it."""
    for start in starts:
        told = start.telemetry
        for reason in HARMFUL:
            if told is not None and (share := told.held_back(reason)) > 0:
                heat = "" if told.temperature_peak_c is None else f", at up to {told.temperature_peak_c:.0f} °C"
                return (
                    f"the card was throttled ({reason.value}) in {share:.0%} of the readings of the "
                    f"{start.arm.value} arm{heat}; cool it, or lock its clocks with --mtp-lock-clocks"
                )
    return None


def larger_than_the_card(starts: Sequence[Start], conditions: Conditions) -> str | None:
    """The servers' logs name more memory on the card than it has."""
    total = conditions.card_memory_bytes
    taken = [start.device_bytes for start in starts if start.device_bytes is not None]
    if total is None or not taken:
        return None
    needed = sum(taken) if conditions.isolation is Isolation.SIDE_BY_SIDE else max(taken)
    if needed <= total:
        return None
    return (
        f"the servers took {memory_amount(needed)} for the card, which has {memory_amount(total)}: the rest lies in "
        "system memory; shorten the context (server.ctx) or measure one server at a time"
    )


def spilled_to_mapped_memory(starts: Sequence[Start], conditions: Conditions) -> str | None:
    """System memory mapped for a full card (AMD), where a model does not belong."""
    for start in starts:
        told = start.telemetry
        if told is None or told.gtt_bytes is None or not _full(start, conditions):
            continue
        if told.gtt_bytes.peak > _SPILLED_GTT_BYTES:
            return (
                f"the card is full and {memory_amount(told.gtt_bytes.peak)} lay in system memory (GTT) while the "
                f"{start.arm.value} arm was measured; shorten the context (server.ctx)"
            )
    return None


def full_card(starts: Sequence[Start], conditions: Conditions) -> str | None:
    """A card filled to the brim under a driver that spills unsaid; other drivers let the server fail instead."""
    if not conditions.may_spill:
        return None
    for start in starts:
        if _full(start, conditions):
            return (
                f"the card's memory was full while the {start.arm.value} arm was measured, and this driver moves to "
                "system memory what does not fit; close what shows pictures, or shorten the context (server.ctx)"
            )
    return None


def unlocked(starts: Sequence[Start], conditions: Conditions) -> str | None:
    """Clocks that did not stay where they were locked."""
    if conditions.locked_mhz is None:
        return None
    for start in starts:
        clock = _clock(start)
        if clock is not None and abs(clock / conditions.locked_mhz - 1) > _CLOCK_SHARE:
            return (
                f"the clock was locked to {conditions.locked_mhz} MHz, the {start.arm.value} arm ran at "
                f"{clock:.0f} MHz: the card does not hold it"
            )
    return None


def power_limit_changed(starts: Sequence[Start], _: Conditions) -> str | None:
    """An arm that the power limit held back at less power than the other arm was given."""
    for held, free in permutations(starts, 2):
        if not (_capped(held) and not _capped(free)):
            continue
        low, high = _power(held), _power(free)
        if low is not None and high is not None and low < high * (1 - _CLOCK_SHARE):
            return (
                f"the power limit held the {held.arm.value} arm at {low:.0f} W and let the {free.arm.value} arm have "
                f"{high:.0f} W: the limit was changed in between"
            )
    return None


def clocks_apart(starts: Sequence[Start], _: Conditions) -> str | None:
    """Clocks that differ between the arms, unless the slower arm is the one that its own power holds back.

    Verifying drafts takes more power for each byte read, so at the power limit the mtp arm's lower clock is its price.
    Whether it is cannot be known of a card that gives no reasons.
    """
    for slow, fast in permutations(starts, 2):
        low, high = _clock(slow), _clock(fast)
        if low is None or high is None or low >= high * (1 - _CLOCK_SHARE):
            continue
        if _capped(slow) or not _tells_reasons(slow):
            continue
        return (
            f"the card ran at {low:.0f} MHz for the {slow.arm.value} arm and at {high:.0f} MHz for the "
            f"{fast.arm.value} arm ({low / high - 1:+.1%}); lock its clocks with --mtp-lock-clocks"
        )
    return None


RULES: Final[tuple[Rule, ...]] = (
    not_on_the_card,
    fewer_layers,
    foreign_process,
    throttled,
    larger_than_the_card,
    spilled_to_mapped_memory,
    full_card,
    unlocked,
    power_limit_changed,
    clocks_apart,
)
"""In the order in which they are asked: the plainest cause first."""


def _full(start: Start, conditions: Conditions) -> bool:
    told, total = start.telemetry, conditions.card_memory_bytes
    return (
        told is not None
        and told.memory_bytes is not None
        and total is not None
        and (told.memory_bytes.peak >= total * _FULL)
    )


def _clock(start: Start) -> float | None:
    told = start.telemetry
    return None if told is None or told.looks < _FEWEST_LOOKS else told.sm_clock_mhz


def _power(start: Start) -> float | None:
    return None if start.telemetry is None else start.telemetry.power_w


def _capped(start: Start) -> bool:
    return start.telemetry is not None and start.telemetry.held_back(Throttle.POWER_CAP) >= _OFTEN


def _tells_reasons(start: Start) -> bool:
    return start.telemetry is not None and "throttle" not in start.telemetry.lacking
