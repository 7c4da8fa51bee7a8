import math
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtp.core.decision import Evidence, Finding, holm, recurring, settled, unpaid, weigh
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


@dataclass(frozen=True, slots=True)
class Told:
    """A quantity of which just the chances are known; its interval tells at which level it was asked for."""

    below: float = 1.0
    above: float = 1.0

    def p_below(self, limit: float) -> float:
        return self.below if limit == 1.5 else math.nan

    def p_above(self, limit: float) -> float:
        return self.above if limit == 1.5 else math.nan

    def interval(self, level: float) -> tuple[float, float]:
        return 1 - level, 1 + level


QUARTER = Gate(alpha=0.25, looks=(2,))  # whose shares have no rounding


def found(told: Mapping[str, Told]) -> dict[str, tuple[Finding, float]]:
    """Each class's finding, and the alpha of the interval that is shown."""
    evidence = weigh(told, dict.fromkeys(told, 1.5), QUARTER)
    for one in evidence.values():
        assert (one.low, one.high) == (1 - one.level, 1 + one.level)
    return {name: (one.finding, (1 - one.level) / 2) for name, one in evidence.items()}


@pytest.mark.parametrize(
    ("told", "finding", "alpha"),
    [
        (Told(below=0.25), Finding.BELOW, 0.25),  # alpha itself rejects, as Holm has it
        (Told(below=0.26), Finding.OPEN, 0.25),
        (Told(above=0.24), Finding.ABOVE, 0.25),
        (Told(above=0.25), Finding.OPEN, 0.25),  # a pass wants less than alpha
        (Told(below=math.nan, above=math.nan), Finding.OPEN, 0.25),
        (Told(below=0.1, above=0.1), Finding.BELOW, 0.25),  # of a contradiction the loss is told
    ],
)
def test_chances_are_compared_with_the_alpha_of_a_look(told: Told, finding: Finding, alpha: float) -> None:
    assert found({"a": told}) == {"a": (finding, alpha)}


def test_every_class_shows_the_level_at_which_it_was_decided() -> None:
    told = {"lost": Told(below=0.01), "near": Told(below=0.25), "held": Told(above=0.01), "far": Told(below=0.26)}
    assert found(told) == {
        "lost": (Finding.BELOW, pytest.approx(0.25 / 4)),
        "near": (Finding.OPEN, pytest.approx(0.25 / 3)),  # first of the three that were left
        "held": (Finding.ABOVE, 0.25),
        "far": (Finding.OPEN, 0.25),  # Holm had nothing to do with it
    }


def test_holm_rejects_at_alpha_itself_and_no_chance_that_is_no_number() -> None:
    assert holm({"a": 0.25, "b": 0.125}, 0.25) == {"a": 0.25, "b": 0.125}
    assert holm({"a": math.nan}, 0.25) == {}


def test_a_loss_recurs_at_the_whole_alpha_unshared() -> None:
    gate = Gate(alpha=0.25, looks=(2, 4))
    again = {"at": Told(below=0.25), "beyond": Told(below=0.26), "sure": Told(below=0.01)}
    assert recurring(again, dict.fromkeys(again, 1.5), gate) == {"at", "sure"}


def test_between_looks_nothing_is_decided_and_all_is_shown() -> None:
    decided = weigh({"a": Told(below=0.01), "b": Told(above=0.01)}, {"a": 1.5, "b": 1.5}, QUARTER)
    assert unpaid(decided) == {
        name: Evidence(finding=Finding.OPEN, level=one.level, low=one.low, high=one.high)
        for name, one in decided.items()
    }


@pytest.mark.parametrize(
    ("findings", "done"),
    [
        ("", True),
        ("above", True),
        ("below", True),
        ("open", False),
        ("above above", True),
        ("above open", False),
        ("open below", True),
        ("above below", True),
    ],
)
def test_one_loss_ends_it_and_one_open_class_goes_on(findings: str, *, done: bool) -> None:
    shown = {
        str(place): Evidence(finding=Finding(one), level=0.9, low=1, high=2)
        for place, one in enumerate(findings.split())
    }
    assert settled(shown) is done
