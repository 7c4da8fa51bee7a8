import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtp.core.decision import Finding, holm, settled, weigh
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.speedup import Estimate
from tests.campaigns import around

GATE = Gate()


def estimate(center: float, sd: float = 0.01, blocks: int = 4) -> Estimate:
    return Estimate(tuple(math.log(value) for value in around(center, sd, blocks)))


# Worked by hand: 0.01 <= 0.05/4, 0.013 <= 0.05/3, 0.03 > 0.05/2, so the rest stays whatever its p.
def test_holm_stops_at_the_first_that_stays() -> None:
    rejected = holm({"d": 0.04, "a": 0.01, "c": 0.03, "b": 0.013}, 0.05)
    assert rejected == {"a": pytest.approx(0.05 / 4), "b": pytest.approx(0.05 / 3)}


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=8), st.floats(0.001, 0.4))
def test_holm_rejects_between_bonferroni_and_raw(p_values: dict[str, float], alpha: float) -> None:
    rejected = set(holm(p_values, alpha))
    assert {name for name, p in p_values.items() if p <= alpha / len(p_values)} <= rejected
    assert rejected <= {name for name, p in p_values.items() if p <= alpha}


@pytest.mark.parametrize(
    ("center", "sd", "finding"),
    [(2.0, 0.01, Finding.ABOVE), (1.0, 0.01, Finding.BELOW), (1.5, 0.01, Finding.OPEN), (1.6, 0.2, Finding.OPEN)],
)
def test_a_class_is_held_against_its_limit(center: float, sd: float, finding: Finding) -> None:
    assert weigh({"a": estimate(center, sd)}, {"a": 1.5}, GATE)["a"].finding is finding


def test_the_shown_interval_lies_on_the_side_of_the_finding() -> None:
    many = {f"c{index}": estimate(1.9) for index in range(8)} | {"lost": estimate(1.4)}
    evidence = weigh(many, dict.fromkeys(many, 1.5), GATE)
    assert evidence["lost"].high < 1.5 < evidence["c0"].low
    # Tested first of nine, so at a ninth of the look's alpha.
    assert evidence["lost"].level == pytest.approx(1 - 2 * 0.05 / 3 / 9)
    assert evidence["c0"].level == pytest.approx(1 - 2 * 0.05 / 3)


@pytest.mark.parametrize(
    ("centers", "done"),
    [((2.0, 2.0), True), ((2.0, 1.5), False), ((1.0, 1.5), True), ((), True)],
)
def test_measuring_ends_when_one_lost_or_all_held(centers: tuple[float, ...], done: bool) -> None:  # noqa: FBT001
    estimates = {str(index): estimate(center) for index, center in enumerate(centers)}
    assert settled(weigh(estimates, dict.fromkeys(estimates, 1.5), GATE)) is done


def test_a_class_that_only_holm_keeps_shows_the_interval_that_holm_used() -> None:
    # Below its limit at the look's alpha, but not at a sixth of it.
    many = {f"c{index}": estimate(1.9) for index in range(5)} | {"near": estimate(1.455, sd=0.012)}
    evidence = weigh(many, dict.fromkeys(many, 1.5), GATE)["near"]
    assert many["near"].p_below(1.5) < GATE.alpha_look
    assert evidence.finding is Finding.OPEN
    assert evidence.low < 1.5 < evidence.high
