import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtp.core.cost_curve import (
    CostCurve,
    CurvePoint,
    Payoff,
    point_of,
    rates_of,
    sentence,
)
from pytest_mtp.core.speedup import Estimate
from pytest_mtp.errors import InputError
from tests.campaigns import around, campaign

TAUS = (1.0, 2.0, 3.0, 4.0)


def estimate(*values: float) -> Estimate:
    return Estimate(tuple(map(math.log, values)))


def curve(*blocks: tuple[float, float], taus: tuple[float, ...] = TAUS, n_max: int = 3) -> CostCurve:
    """Each block has its own line: intercept and slope."""
    costs = ([intercept + slope * tau for intercept, slope in blocks] for tau in taus)
    points = (CurvePoint(tau, estimate(*cost)) for tau, cost in zip(taus, costs, strict=True))
    return CostCurve(tuple(points), n_max)


def test_mtp_pays_where_a_step_makes_more_tokens_than_it_costs() -> None:
    # c = 1.6 + 0.2 tau meets tau at 2.
    found = curve((1.6, 0.2), (1.6, 0.2))
    assert found.payoff is Payoff.ABOVE
    assert found.break_even.ratio == pytest.approx(2.0)
    assert found.speedup(2.0).ratio == pytest.approx(1.0)
    assert found.speedup(4.0).ratio == pytest.approx(4 / 2.4)


def test_the_break_even_has_the_spread_of_its_blocks() -> None:
    found = curve((1.9, 0.0), (2.0, 0.0), (2.1, 0.0))
    low, high = found.break_even.interval(0.95)
    assert estimate(1.9, 2.0, 2.1).interval(0.95) == pytest.approx((low, high))
    words = f"MTP pays above 2.00 tokens per step on this machine (95 % interval [{low:.2f}, {high:.2f}])."
    assert sentence(found) == words


def test_drift_that_all_points_of_a_block_share_stays_one_replicate() -> None:
    # A machine that is 10 % dearer in the second block: two break-evens, each exact.
    found = curve((1.0, 0.5), (1.1, 0.45))
    assert [math.exp(log) for log in found.break_even.logs] == pytest.approx([2.0, 2.0])


@pytest.mark.parametrize(
    ("line", "payoff", "words"),
    [
        ((0.9, 0.0), Payoff.ALWAYS, r"pays at any acceptance .* accepts no draft costs 0\.90 of a plain one \(95 %"),
        ((1.0, 0.0), Payoff.ALWAYS, r"pays at any acceptance"),
        ((1.01, 0.0), Payoff.ABOVE, r"pays above 1\.01 tokens"),
        ((3.9, 0.0), Payoff.ABOVE, r"pays above 3\.90 tokens"),
        ((4.0, 0.0), Payoff.NEVER, r"never pays .* all 3 drafts accepted its speedup is 1\.00x"),
        ((5.0, 0.0), Payoff.NEVER, r"never pays .* 0\.80x \(95 % interval \[0\.80, 0\.80\]\)"),
        ((1.0, 1.0), Payoff.NEVER, r"never pays .* 0\.80x"),  # a token more costs a plain step
    ],
)
def test_what_the_line_says_is_said_in_words(line: tuple[float, float], payoff: Payoff, words: str) -> None:
    found = curve(line, line)
    assert found.payoff is payoff
    assert re.search(words, sentence(found)), sentence(found)


def test_one_point_means_the_same_cost_at_every_acceptance() -> None:
    found = curve((1.8, 0.0), (1.8, 0.0), taus=(2.5,))
    assert found.break_even.ratio == pytest.approx(1.8)
    assert found.speedup(3.6).ratio == pytest.approx(2.0)


def test_points_of_the_same_tau_are_one() -> None:
    points = (CurvePoint(2.0, estimate(1.5)), CurvePoint(2.0, estimate(1.7)))
    assert CostCurve(points, 3).break_even.ratio == pytest.approx(1.6)


def test_one_block_has_no_interval() -> None:
    assert "(one block, so without an interval)" in sentence(curve((1.8, 0.1)))


def test_blocks_that_every_point_has_are_the_replicates() -> None:
    points = (CurvePoint(1.0, estimate(1.5, 1.5, 9.0)), CurvePoint(3.0, estimate(1.5, 1.5)))
    assert CostCurve(points, 3).blocks == 2
    assert CostCurve(points, 3).step_cost(2.0).blocks == 2


def test_blocks_of_which_one_never_crosses_disagree() -> None:
    found = curve((0.2, 0.9), (0.9, 1.05), (0.3, 0.8))
    assert found.break_even.blocks == 0
    assert "disagree" in sentence(curve((1.5, 0.2), (0.5, 1.2), (1.5, 0.2)))


def test_blocks_whose_middle_no_step_reaches_disagree_too() -> None:
    # Break-evens of 2 and 40: their geometric mean lies beyond the 4 tokens of a step.
    found = curve((2.0, 0.0), (2.0, 0.95))
    assert found.payoff is Payoff.ABOVE
    assert found.break_even.ratio > 4
    assert "disagree" in sentence(found)


def test_a_bend_is_told() -> None:
    straight = curve((1.5, 0.1))
    assert straight.misfit == pytest.approx(0.0, abs=1e-9)
    points = (CurvePoint(1.0, estimate(1.0)), CurvePoint(2.0, estimate(1.6)), CurvePoint(3.0, estimate(1.0)))
    # The line is level at 1.2.
    assert CostCurve(points, 3).misfit == pytest.approx(1.6 / 1.2 - 1)


@pytest.mark.parametrize("points", [(), (CurvePoint(2.0, estimate()),)])
def test_a_curve_of_nothing_is_refused(points: tuple[CurvePoint, ...]) -> None:
    with pytest.raises(InputError, match="needs a point"):
        CostCurve(points, 3)


def test_the_speedup_of_a_point_is_its_tokens_over_its_cost() -> None:
    assert CurvePoint(3.0, estimate(2.0, 1.5)).speedup.logs == pytest.approx(estimate(1.5, 2.0).logs)


def test_a_campaign_is_a_point() -> None:
    # 96 tokens of which 64 were accepted drafts: 32 steps of 3 tokens.
    found = point_of(campaign({"a": around(1.5, 0.01)}), "a")
    assert found is not None
    assert (found.tau, found.step_cost.ratio) == pytest.approx((3.0, 2.0))
    assert point_of(campaign({"a": ()}), "a") is None


@given(n_max=st.integers(1, 8), share=st.floats(0, 1))
def test_rates_make_the_tokens_that_were_asked_for(n_max: int, share: float) -> None:
    tau = 1 + share * n_max
    rates = rates_of(tau, n_max)
    assert len(rates) == n_max
    assert 1 + sum(rates) == pytest.approx(tau, abs=1e-4)
    assert list(rates) == sorted(rates, reverse=True)


@pytest.mark.parametrize(("tau", "rates"), [(1.0, (0.0, 0.0, 0.0)), (4.0, (1.0, 1.0, 1.0))])
def test_the_ends_are_met_exactly(tau: float, rates: tuple[float, ...]) -> None:
    assert rates_of(tau, 3) == rates


@pytest.mark.parametrize("tau", [0.9, 4.1])
def test_tokens_that_no_step_makes_are_refused(tau: float) -> None:
    with pytest.raises(InputError, match="between 1 and 4 tokens"):
        rates_of(tau, 3)
