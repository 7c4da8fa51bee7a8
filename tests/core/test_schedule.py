from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pytest_mtp.core.schedule import block_order, request_order
from pytest_mtp.core.server_spec import Arm

SEATS = ("head plain", "head mtp", "base plain", "base mtp", "control")


@given(seed=st.integers(), pair=st.integers(0, 50))
def test_neighbouring_blocks_mirror_each_other(seed: int, pair: int) -> None:
    first, second = block_order(SEATS, 2 * pair, seed), block_order(SEATS, 2 * pair + 1, seed)
    assert first == second[::-1]


@given(st.integers())
def test_each_arm_leads_half_of_the_blocks(seed: int) -> None:
    leads = [block_order(tuple(Arm), index, seed)[0] for index in range(12)]
    assert leads.count(Arm.MTP) == leads.count(Arm.PLAIN) == 6


def test_the_order_depends_on_the_seed_and_is_repeatable() -> None:
    orders = {seed: [block_order(SEATS, index, seed) for index in range(12)] for seed in range(20)}
    assert len({tuple(order) for order in orders.values()}) > 1
    assert orders[3] == [block_order(SEATS, index, 3) for index in range(12)]


def test_requests_alternate_within_a_block() -> None:
    asked = [arm for pair in range(4) for arm in request_order((Arm.PLAIN, Arm.MTP), pair)]
    assert [arm.value for arm in asked] == ["plain", "mtp", "mtp", "plain", "plain", "mtp", "mtp", "plain"]
    assert sum(a is b for a, b in pairwise(asked)) == 3


def test_a_seed_means_the_same_order_in_every_version() -> None:
    """A campaign that is measured again, or taken up again, must meet its blocks in the order that is stored."""
    orders = [block_order(tuple("ABC"), index, 0x4D5450) for index in range(4)]
    assert ["".join(order) for order in orders] == ["CAB", "BAC", "ABC", "CBA"]
