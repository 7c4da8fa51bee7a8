"""Comparisons made of numbers: a base, a control, and heads with a known loss, in the same blocks."""

import math
import random
from dataclasses import replace

from pytest_mtp.core.comparison import Compared
from pytest_mtp.core.sample import Block, Campaign, Start
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.tier import Rule, Tier
from tests.campaigns import around, campaign

SPEEDUPS = {"a": 2.0, "b": 1.2}
SCREEN = Tier.SCREEN.rule()


def base(blocks: int = 5, accepted: int = 64) -> Campaign:
    """Two classes whose speedup spreads by a percent from block to block."""
    return campaign(
        {name: around(center, 0.01, blocks) for name, center in SPEEDUPS.items()},
        accepted=dict.fromkeys(SPEEDUPS, accepted),
    )


def stretched(
    one: Campaign, plain: float = 1.0, mtp: float = 1.0, sd: float = 0.005, seed: int = 1, **told: object
) -> Campaign:
    """The campaign with the times of its arms stretched, and a little noise of each block's own."""
    noise = random.Random(seed)

    def block(old: Block) -> Block:
        starts = tuple(
            _stretched(start, {Arm.PLAIN: plain, Arm.MTP: mtp}[start.arm] * math.exp(noise.gauss(0, sd)))
            for start in old.starts
        )
        return replace(old, starts=starts)

    return replace(
        one,
        blocks=tuple(map(block, one.blocks)),
        circumstances=replace(one.circumstances, **told),  # type: ignore[arg-type]  # a test may say anything
    )


def _stretched(start: Start, by: float) -> Start:
    samples = (
        replace(one, timings=replace(one.timings, predicted_ms=one.timings.predicted_ms * by)) for one in start.samples
    )
    return replace(start, samples=tuple(samples))


def mtp_alone(one: Campaign) -> Campaign:
    """Its mtp arm, as a control has it."""
    blocks = (
        replace(block, starts=tuple(start for start in block.starts if start.arm is Arm.MTP)) for block in one.blocks
    )
    return replace(one, blocks=tuple(blocks))


def compared(against: Campaign, control: float = 1.0, rule: Rule = SCREEN) -> Compared:
    """``against`` as base, with a control whose times are stretched by ``control``."""
    return Compared(base=against, control=mtp_alone(stretched(against, mtp=control, seed=2)), rule=rule)
