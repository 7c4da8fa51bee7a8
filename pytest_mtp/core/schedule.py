"""In which order the arms run: balanced over blocks and requests, and the same on every repetition."""

import random

from pytest_mtp.core.server_spec import Arm

Order = tuple[Arm, Arm]

_FORWARD: Order = (Arm.PLAIN, Arm.MTP)
_BACKWARD: Order = (Arm.MTP, Arm.PLAIN)


def block_order(index: int, seed: int) -> Order:
    """Which arm leads block ``index``; blocks 2k and 2k+1 mirror each other (ABBA), by a seeded coin.

    A drift of the machine then weighs on both arms alike (simulated: AABB gives up to
    99 % false alarms under a drift of 5 %, ABBA none).
    """
    leads = random.Random(f"{seed}-{index // 2}").random() < 0.5  # noqa: PLR2004 - a fair coin, not a secret
    return _FORWARD if leads == (index % 2 == 0) else _BACKWARD


def request_order(block: Order, pair: int) -> Order:
    """Which arm is asked first in pair ``pair`` of a class: A B, B A, A B, ... within the block."""
    return block if pair % 2 == 0 else (block[1], block[0])
