import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtp.core.sample import Block, Start
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.speedup import Estimate, block_log_ratio, middle_mean, speedup, throughput
from tests.campaigns import campaign, sample


def test_the_speedup_is_the_geometric_mean_over_blocks() -> None:
    assert speedup(campaign({"a": (1.0, 4.0)}), "a").ratio == pytest.approx(2.0)


def test_throughput_leaves_the_free_token_out() -> None:
    measured = campaign({"a": (2.0, 2.0)})
    assert throughput(measured, Arm.PLAIN, "a").ratio == pytest.approx(96 / 0.960)
    assert throughput(measured, Arm.MTP, "a").ratio == pytest.approx(96 / 0.480)


def test_one_disturbed_pair_does_not_move_a_block() -> None:
    def start(arm: Arm, times: tuple[float, ...]) -> Start:
        samples = [sample("a", arm, ms=ms, accepted=0, drafted=1, pair=pair) for pair, ms in enumerate(times)]
        return Start(arm=arm, command="", load_s=0, samples=tuple(reversed(samples)))

    starts = (start(Arm.PLAIN, (100, 100, 900)), start(Arm.MTP, (50, 50, 50)))
    block = Block(index=0, order=(Arm.PLAIN, Arm.MTP), starts=starts, measuring_s=1)
    assert math.exp(block_log_ratio(block, "a")) == pytest.approx(2.0)


# t quantile for 3 degrees of freedom at 97.5 %, from a printed table: 3.182
def test_the_interval_is_students_t() -> None:
    estimate = Estimate((0.0, 0.1, 0.2, 0.3))
    half = 3.182 * estimate.log_sd / 2
    low, high = estimate.interval(0.95)
    assert math.log(low) == pytest.approx(0.15 - half, abs=1e-4)
    assert math.log(high) == pytest.approx(0.15 + half, abs=1e-4)


@given(
    st.lists(st.floats(-1, 1), min_size=2, max_size=12).filter(lambda logs: max(logs) - min(logs) > 1e-6),
    st.floats(0.5, 2),
    st.floats(0.001, 0.2),
)
def test_interval_and_p_value_decide_alike(logs: list[float], limit: float, alpha: float) -> None:
    estimate = Estimate(tuple(logs))
    low, high = estimate.interval(1 - 2 * alpha)
    if abs(math.log(limit) - math.log(low)) > 1e-9 and abs(math.log(limit) - math.log(high)) > 1e-9:
        assert (estimate.p_above(limit) < alpha) == (low > limit)
        assert (estimate.p_below(limit) < alpha) == (high < limit)


@pytest.mark.parametrize(("limit", "below", "above"), [(1.0, 1.0, 0.0), (3.0, 0.0, 1.0), (2.0, 1.0, 1.0)])
def test_identical_blocks_decide_without_a_spread(limit: float, below: float, above: float) -> None:
    estimate = Estimate((math.log(2.0),) * 4)
    assert (estimate.p_below(limit), estimate.p_above(limit)) == (below, above)


def test_a_single_block_proves_nothing() -> None:
    estimate = Estimate((5.0,))
    assert (estimate.p_below(1), estimate.p_above(1), estimate.interval(0.9)) == (1.0, 1.0, (0.0, math.inf))


@pytest.mark.parametrize(
    ("values", "middle"),
    [
        ((7,), 7),
        ((1, 3), 2),
        ((1, 2, 90), 2),
        ((1, 2, 4, 90), 3),
        ((-80, 1, 2, 3, 90), 2),
        ((90, 1, 2, 3, -80, 4, 5, 70, -60), 3),  # nine values: two go at each end
    ],
)
def test_the_middle_forgets_the_ends(values: tuple[float, ...], middle: float) -> None:
    assert middle_mean(values) == middle
