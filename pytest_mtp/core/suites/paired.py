"""Ratios of two arms, or of two campaigns measured in turn, block by block."""

import math
from collections.abc import Callable, Sequence
from statistics import fmean

from pytest_mtp.core.sample import Block, Campaign, Sample
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.speedup import Estimate, middle_mean
from pytest_mtp.core.study import Quantity

Value = Callable[[Sample], float]
"""A positive number of one answer."""


def both_arms(campaign: Campaign, name: str, kind: str, unit: str, value: Value) -> Quantity:
    """The mtp arm's value over the plain one's: of neighbouring requests, the middle half of each class's pairs."""
    logs = []
    for block in campaign.valid:
        plain, mtp = (block.start(arm) for arm in (Arm.PLAIN, Arm.MTP))
        classes = [
            [math.log(value(m) / value(p)) for p, m in zip(plain.of(one), mtp.of(one), strict=True)]
            for one in campaign.classes
        ]
        logs.append(fmean(middle_mean(ratios) for ratios in classes))
    return Quantity(
        name=name,
        kind=kind,
        unit=unit,
        first=of_arm(campaign, Arm.PLAIN, value).ratio,
        second=of_arm(campaign, Arm.MTP, value).ratio,
        ratio=Estimate(tuple(logs)),
        sides=(Arm.PLAIN.value, Arm.MTP.value),
    )


def of_arm(campaign: Campaign, arm: Arm, value: Value, classes: Sequence[str] | None = None) -> Estimate:
    """A value of one arm over its classes, block by block."""
    names = campaign.classes if classes is None else classes
    return Estimate(tuple(_of_block(block, arm, value, names) for block in campaign.valid))


def _of_block(block: Block, arm: Arm, value: Value, names: Sequence[str]) -> float:
    start = block.start(arm)
    return fmean(middle_mean([math.log(value(sample)) for sample in start.of(name)]) for name in names)


def drafts_told(campaign: Campaign) -> bool:
    """Whether the engine says what it drafted, without which there are no tokens per step to compare."""
    return all(one.timings.told for name in campaign.classes for one in campaign.samples(Arm.MTP, name))


def in_turn(
    name: str, kind: str, unit: str, first: Estimate, second: Estimate, *, sides: tuple[str, str] | None = None
) -> Quantity:
    """The second over the first, valid block by valid block; what one lacks at its end is left out.

    They are neighbours unless a block between was invalid.
    """
    return Quantity(
        name=name,
        kind=kind,
        unit=unit,
        first=first.ratio,
        second=second.ratio,
        ratio=over(second, first),
        sides=sides,
    )


def over(second: Estimate, first: Estimate) -> Estimate:
    """The second over the first, block by block."""
    return Estimate(tuple(new - old for old, new in zip(first.logs, second.logs, strict=False)))
