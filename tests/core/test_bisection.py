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
    effect_of,
    expected_measurements,
    next_step,
    not_started,
)
from pytest_mtp.core.comparison import Compared
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.run_report import Judged
from pytest_mtp.core.sample import ArmFailure, Campaign, Stage
from pytest_mtp.core.server_spec import Arm
from tests.campaigns import campaign
from tests.comparisons import base, compared, stretched


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


BASE = base()


def judged(head: Campaign, to: Compared | None = None) -> Judged:
    return Judged(campaign=head, gate=Gate(), compared=to or compared(BASE))


def failed(*arms: Arm) -> Campaign:
    """A side whose arms do not start."""
    return campaign({}, failures=tuple(ArmFailure(arm=arm, stage=Stage.START, message="no context") for arm in arms))


@pytest.mark.parametrize(
    ("head", "quantity", "ratio"),
    [
        (stretched(BASE, mtp=1.25), Quantity.MTP_TPS, 1 / 1.25),
        (stretched(BASE, mtp=1.25), Quantity.STEP_COST, 1.25),
        (stretched(BASE, plain=1.25, mtp=1.25), Quantity.MTP_TPS, 1 / 1.25),
        (stretched(BASE, plain=1.25, mtp=1.25), Quantity.STEP_COST, 1.0),  # the whole engine, not the step
        (stretched(BASE, mtp=0.8), Quantity.MTP_TPS, 1.25),
    ],
)
def test_a_known_change_lies_in_the_interval_and_near_the_ratio(
    head: Campaign, quantity: Quantity, ratio: float
) -> None:
    found = effect_of(judged(head), "a", quantity)
    assert isinstance(found, Effect)
    assert found.low < ratio < found.high
    assert found.low < found.ratio < found.high
    assert found.ratio == pytest.approx(ratio, rel=0.01)


def test_tau_is_a_count_whose_interval_is_a_point() -> None:
    # 96 steps less the accepted drafts: 64 leave 32, 48 leave 48.
    assert effect_of(judged(stretched(base(accepted=48))), "a", Quantity.TAU) == point((96 / 48) / (96 / 32))


@pytest.mark.parametrize("quantity", Quantity)
def test_an_mtp_arm_that_alone_does_not_start_is_the_worst_effect(quantity: Quantity) -> None:
    assert effect_of(judged(failed(Arm.MTP)), "a", quantity) == not_started(quantity)


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (judged(failed(Arm.PLAIN)), "its plain arm failed in start: no context"),
        (judged(failed(Arm.PLAIN, Arm.MTP)), "its plain arm failed in start: no context"),
        (judged(BASE, compared(failed(Arm.MTP))), "GOOD mtp arm failed in start: no context"),
        (judged(failed(Arm.MTP), compared(failed(Arm.MTP))), "GOOD mtp arm failed in start: no context"),
        (judged(stretched(BASE, mtp=1.25), compared(BASE, control=1.2)), "the control moved: "),
        (judged(base(blocks=1), compared(base(blocks=1))), ""),
        (Judged(campaign=BASE, gate=Gate()), "it was compared with nothing"),
    ],
)
def test_what_is_no_answer_says_why(one: Judged, said: str) -> None:
    found = effect_of(one, "a", Quantity.MTP_TPS)
    assert isinstance(found, str)
    assert found.startswith(said)
    assert found


def test_a_class_that_was_not_measured_is_no_answer() -> None:
    assert effect_of(judged(stretched(BASE)), "absent", Quantity.MTP_TPS) == "it tells nothing of absent"
