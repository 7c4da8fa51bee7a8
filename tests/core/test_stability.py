"""How noisy a campaign was, and how much of it the servers worked."""

import math
from dataclasses import replace

import pytest

from pytest_mtp.core.stability import block_sd, working_share, worst_block_sd
from tests.campaigns import around, campaign

# Logs of four blocks at plus and minus sd about their mean: their sample sd is sd * sqrt(4/3).
SPREAD = math.sqrt(4 / 3)
MEASURED = campaign({"a": around(2.0, 0.01), "b": around(1.5, 0.03), "c": around(1.2, 0.02)})


def test_the_noise_of_a_campaign_is_its_middle_class_and_its_worst_is_told_apart() -> None:
    assert block_sd(MEASURED) == pytest.approx(0.02 * SPREAD)
    assert worst_block_sd(MEASURED) == pytest.approx(0.03 * SPREAD)
    assert math.isnan(block_sd(campaign({"a": (2.0,)})))


def test_the_working_share_is_server_time_over_wall_time_of_blocks_that_count() -> None:
    # Of one class at 2.00x: 960 ms plain and 480 ms mtp in each block of 10 s.
    measured = campaign({"a": (2.0, 2.0)})
    assert working_share(measured) == pytest.approx(0.144)
    spoiled = replace(measured.blocks[1], measuring_s=1000.0, invalid="hot")
    assert working_share(replace(measured, blocks=(measured.blocks[0], spoiled))) == pytest.approx(0.144)
    assert working_share(campaign({"a": ()})) is None
