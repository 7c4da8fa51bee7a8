import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtp.core.efficiency import CostChange, Part, StepParts, sentence

THEN = StepParts(whole=2.0, verification=1.4, drafting=0.4)


def parts(**changes: float) -> StepParts:
    values = {"whole": 2.0, "verification": 1.4, "drafting": 0.4}
    return StepParts(**(values | changes))


def test_the_ideal_speedup_has_no_rest() -> None:
    assert THEN.rest == pytest.approx(0.2)
    assert THEN.ideal_speedup(2.7) == pytest.approx(1.5)
    # Measured: 2.7 / 2.0, which is 0.9 of 1.5.
    assert THEN.efficiency == pytest.approx(0.9)
    assert 2.7 / THEN.whole == pytest.approx(THEN.efficiency * THEN.ideal_speedup(2.7))


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"whole": 2.3, "verification": 1.7}, Part.VERIFICATION),
        ({"whole": 2.3, "drafting": 0.7}, Part.DRAFTING),
        ({"whole": 2.3}, Part.REST),
        # A dearer verification that a cheaper draft half hides.
        ({"whole": 2.1, "verification": 1.6, "drafting": 0.3}, Part.VERIFICATION),
        ({"whole": 1.7, "drafting": 0.1}, Part.DRAFTING),
        # Cheaper, although drafting is dearer.
        ({"whole": 1.7, "drafting": 0.5}, Part.REST),
    ],
)
def test_the_part_that_moved_the_cost_is_named(changes: dict[str, float], part: Part) -> None:
    change = CostChange(parts(**changes), THEN)
    assert change.part is part
    word = "dearer" if change.relative > 0 else "cheaper"
    assert sentence(change).startswith(f"A step became {word} by {abs(change.relative):.1%}, most of it by")
    assert f"by {part.value} (verification " in sentence(change)


def test_a_change_within_the_noise_has_no_cause() -> None:
    change = CostChange(parts(whole=2.02, verification=1.6, drafting=0.2), THEN)
    assert sentence(change) == "A step costs what it did (+1.0%)."
    assert "dearer" in sentence(change, least=0.005)


COSTS = st.floats(0.1, 5)


@given(COSTS, COSTS, COSTS, COSTS, COSTS, COSTS)
def test_the_parts_add_up_to_the_whole(a: float, b: float, c: float, d: float, e: float, f: float) -> None:
    change = CostChange(StepParts(whole=a, verification=b, drafting=c), StepParts(whole=d, verification=e, drafting=f))
    assert sum(map(change.by, Part)) == pytest.approx(change.relative)
