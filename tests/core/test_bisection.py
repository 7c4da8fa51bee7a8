import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtp.core.bisection import (
    Answer,
    Effect,
    Found,
    Quantity,
    Sense,
    answer,
    differs,
    expected_measurements,
    next_step,
    not_started,
)


def point(ratio: float) -> Effect:
    return Effect(ratio, ratio, ratio)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.78, 0.82, Answer.BAD),
        (0.78, 0.90, Answer.BAD),  # 0.9 is the threshold halfway to 0.81
        (0.89, 0.91, Answer.SKIP),
        (0.90, 1.00, Answer.SKIP),
        (0.91, 1.01, Answer.GOOD),
        (1.20, 1.30, Answer.GOOD),  # moved the other way
        (0.0, math.inf, Answer.SKIP),
    ],
)
def test_the_whole_interval_must_be_on_one_side_of_halfway(low: float, high: float, expected: Answer) -> None:
    assert answer(Effect((low + high) / 2, low, high), point(0.81)) is expected


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(1.21, 1.3, Answer.BAD), (1.1, 1.2, Answer.BAD), (1.0, 1.1, Answer.SKIP), (0.9, 1.0, Answer.GOOD)],
)
def test_a_quantity_that_grows_is_judged_alike(low: float, high: float, expected: Answer) -> None:
    assert answer(Effect((low + high) / 2, low, high), point(1.1**2 - 1e-9)) is expected


@pytest.mark.parametrize("quantity", Quantity)
def test_a_bad_end_that_does_not_start_leaves_what_starts_good(quantity: Quantity) -> None:
    bad = not_started(quantity)
    assert answer(bad, bad) is Answer.BAD
    assert answer(Effect(0.5, 0.4, 0.6), bad) is Answer.GOOD
    assert differs(bad, quantity, Sense.SLOWER)
    assert not differs(bad, quantity, Sense.FASTER)


@pytest.mark.parametrize("quantity", Quantity)
def test_a_candidate_that_does_not_start_is_bad_where_slower_is_sought(quantity: Quantity) -> None:
    slower = 1.2 if quantity is Quantity.STEP_COST else 0.8
    assert answer(not_started(quantity), point(slower)) is Answer.BAD


@pytest.mark.parametrize(
    ("quantity", "sense", "less"),
    [
        (Quantity.TAU, Sense.SLOWER, True),
        (Quantity.TAU, Sense.FASTER, False),
        (Quantity.MTP_TPS, Sense.SLOWER, True),
        (Quantity.MTP_TPS, Sense.FASTER, False),
        (Quantity.STEP_COST, Sense.SLOWER, False),
        (Quantity.STEP_COST, Sense.FASTER, True),
    ],
)
def test_only_a_change_in_the_sought_sense_differs(quantity: Quantity, sense: Sense, *, less: bool) -> None:
    assert differs(Effect(0.9, 0.88, 0.92), quantity, sense) is less
    assert differs(Effect(1.1, 1.08, 1.12), quantity, sense) is not less
    assert not differs(Effect(0.99, 0.97, 1.01), quantity, sense)
    assert not differs(point(1.0), quantity, sense)


def test_git_takes_the_answers_for_what_they_are() -> None:
    assert [one.value for one in (Answer.GOOD, Answer.BAD, Answer.SKIP)] == [0, 1, 125]


def found(names: list[str], truth: Mapping[str, Answer]) -> tuple[Found, list[str]]:
    """What a whole bisection finds, and what it has measured for it."""
    asked: list[str] = []
    while not isinstance(step := next_step(names, {one: truth[one] for one in asked}), Found):
        assert step not in asked
        asked.append(step)
    return step, asked


@given(st.data(), st.integers(2, 60))
def test_what_is_found_contains_the_change_and_costs_its_logarithm_and_the_skips(
    data: st.DataObject, ends: int
) -> None:
    names = [f"v{number}" for number in range(ends)]
    change = data.draw(st.integers(1, ends - 1))
    silent = data.draw(st.sets(st.sampled_from(names)))
    truth = {name: Answer.BAD if place >= change else Answer.GOOD for place, name in enumerate(names)}
    truth |= dict.fromkeys(silent - {names[0], names[-1]}, Answer.SKIP)
    result, asked = found(names, truth)
    assert names[change] in result.suspects
    assert result.suspects[-1] == result.first_bad
    assert names.index(result.last_good) == names.index(result.suspects[0]) - 1
    assert {truth[one] for one in result.suspects[:-1]} <= {Answer.SKIP}
    skips = sum(truth[one] is Answer.SKIP for one in asked)
    assert len(asked) <= math.ceil(math.log2(ends - 1)) + skips
    assert len(asked) - skips <= expected_measurements(ends - 1)


@given(st.integers(2, 200), st.data())
def test_without_skips_one_is_named(ends: int, data: st.DataObject) -> None:
    names = [f"v{number}" for number in range(ends)]
    change = data.draw(st.integers(1, ends - 1))
    truth = {name: Answer.BAD if place >= change else Answer.GOOD for place, name in enumerate(names)}
    assert found(names, truth)[0] == Found(names[change], names[change - 1], (names[change],))


@given(st.lists(st.sampled_from(Answer), min_size=2, max_size=20))
def test_answers_that_contradict_each_other_still_end(told: list[Answer]) -> None:
    names = [f"v{number}" for number in range(len(told))]
    result, _ = found(names, dict(zip(names, told, strict=True)))
    assert names.index(result.last_good) < names.index(result.first_bad)


@pytest.mark.parametrize(("count", "expected"), [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2), (16, 4), (17, 5)])
def test_the_cost_is_told_by_the_logarithm(count: int, expected: int) -> None:
    assert expected_measurements(count) == expected
