from dataclasses import replace

import pytest

from pytest_mtp.core.cause import Cause
from pytest_mtp.core.judge import enough, judge
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.sample import ArmFailure, Campaign, Stage
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.verdict import ClassResult, Outcome, Yardstick
from pytest_mtp.core.yardsticks import Yardsticks
from tests.campaigns import around, campaign

GATE = Gate()
BASELINE = campaign({"a": around(2.0, 0.005, 12), "b": around(1.2, 0.005, 12)})


def verdicts(now: Campaign, yardsticks: Yardsticks) -> dict[str, ClassResult]:
    return {result.prompt_class: result for result in judge(now, yardsticks).results}


@pytest.mark.parametrize(
    ("center", "outcome"),
    [
        (2.0, Outcome.PASS),
        (1.95, Outcome.PASS),  # lost less than the tolerance
        (1.75, Outcome.REGRESSION),
        (1.895, Outcome.INCONCLUSIVE),  # at the limit
        (2.3, Outcome.IMPROVED),
    ],
)
def test_a_class_is_judged_by_its_baseline(center: float, outcome: Outcome) -> None:
    now = campaign({"a": around(center, 0.01), "b": around(1.2, 0.01)})
    results = verdicts(now, Yardsticks(gate=GATE, baseline=BASELINE))
    assert results["a"].speed.outcome is outcome
    assert results["b"].speed.outcome is Outcome.PASS


def test_the_baselines_own_error_widens_its_limit() -> None:
    sure = Yardsticks(gate=GATE, baseline=campaign({"a": around(2.0, 0.001, 12)})).limit("a")
    unsure = Yardsticks(gate=GATE, baseline=campaign({"a": around(2.0, 0.05, 12)})).limit("a")
    assert sure is not None
    assert unsure is not None
    assert sure.speedup == pytest.approx(1.9, abs=0.01)
    assert unsure.tolerance == pytest.approx(0.05 + 2 * 0.0522 / 12**0.5, abs=0.001)


def test_without_a_baseline_the_floor_judges_and_says_so() -> None:
    result = verdicts(campaign({"a": around(2.0, 0.01)}), Yardsticks(gate=GATE, floors={"a": 1.5}))["a"]
    assert result.speed.outcome is Outcome.PASS
    assert result.limit is not None
    assert result.limit.yardstick is Yardstick.FLOOR
    assert "above the floor 1.50x" in result.speed.reason


def test_neither_baseline_nor_floor_is_no_answer() -> None:
    result = verdicts(campaign({"a": around(2.0, 0.01)}), Yardsticks(gate=GATE))["a"]
    assert result.speed.outcome is Outcome.NO_BASELINE
    assert "--mtp-update-baselines=new" in result.speed.reason


def test_drafting_nothing_is_not_exercised() -> None:
    now = campaign({"a": around(1.0, 0.01)}, drafted=0)
    assert verdicts(now, Yardsticks(gate=GATE, floors={"a": 0.5}))["a"].speed.outcome is Outcome.NOT_EXERCISED


def failure(arm: Arm) -> ArmFailure:
    return ArmFailure(arm=arm, stage=Stage.START, message="GGML_ASSERT")


@pytest.mark.parametrize(
    ("arms", "outcome", "cause"),
    [
        ((Arm.MTP,), Outcome.REGRESSION, Cause.START_FAILURE),
        ((Arm.PLAIN, Arm.MTP), Outcome.ERROR, None),
        ((Arm.PLAIN,), Outcome.ERROR, None),
    ],
)
def test_an_mtp_arm_that_alone_does_not_start_is_a_regression(
    arms: tuple[Arm, ...], outcome: Outcome, cause: Cause | None
) -> None:
    now = campaign({"a": ()}, failures=tuple(failure(arm) for arm in arms))
    verdict = verdicts(now, Yardsticks(gate=GATE, floors={"a": 1.0}))["a"].speed
    assert (verdict.outcome, verdict.cause) == (outcome, cause)
    assert "GGML_ASSERT" in verdict.reason


def test_too_few_valid_blocks_are_invalid_with_their_reasons() -> None:
    measured = campaign({"a": around(2.0, 0.01)})
    spoiled = tuple(replace(block, invalid="the card was throttled") for block in measured.blocks)
    verdict = verdicts(replace(measured, blocks=spoiled), Yardsticks(gate=GATE, floors={"a": 1.0}))["a"].speed
    assert verdict.outcome is Outcome.INVALID
    assert "throttled" in verdict.reason


def test_the_sentence_says_which_factor_moved() -> None:
    now = campaign({"a": around(1.6, 0.005)}, accepted={"a": 54})
    reason = verdicts(now, Yardsticks(gate=GATE, baseline=BASELINE))["a"].speed.reason
    # tau 96/32 = 3.00 fell to 96/42 = 2.29, S from 2.00 to 1.60, so a step costs 2.29/1.60 over 3.00/2.00.
    assert (
        "was 2.00x (-20.0%): tokens per step 2.29, were 3.00 (-23.8%), "
        "first in request 1: 54 of 100 drafts accepted, were 64 of 100; a step costs 4.8% less [3.9, 5.6]; "
        "plain arm unchanged"
    ) in reason


@pytest.mark.parametrize(
    ("accepted", "center", "outcome"),
    [
        (64, 2.0, Outcome.PASS),
        (54, 1.6, Outcome.REGRESSION),  # fewer drafts, and slower
        (54, 2.0, Outcome.PASS),  # fewer drafts, as fast: said, not judged
        (54, 1.895, Outcome.INCONCLUSIVE),
        (64, 1.6, Outcome.PASS),  # slower, but not for want of drafts
    ],
)
def test_fewer_accepted_drafts_are_red_only_with_a_loss_of_speed(
    accepted: int, center: float, outcome: Outcome
) -> None:
    now = campaign({"a": around(center, 0.01)}, accepted={"a": accepted})
    assert verdicts(now, Yardsticks(gate=GATE, baseline=BASELINE))["a"].drafts.outcome is outcome


@pytest.mark.parametrize(("accepted", "outcome"), [(64, Outcome.PASS), (0, Outcome.REGRESSION)])
def test_without_a_baseline_some_drafts_must_be_accepted(accepted: int, outcome: Outcome) -> None:
    now = campaign({"a": around(2.0, 0.01)}, accepted={"a": accepted})
    assert verdicts(now, Yardsticks(gate=GATE, floors={"a": 1.0}))["a"].drafts.outcome is outcome


@pytest.mark.parametrize(
    ("blocks", "center", "done"),
    [(3, 2.0, False), (4, 2.0, True), (4, 1.5, False), (5, 2.0, False), (8, 2.0, True), (12, 1.5, True)],
)
def test_measuring_stops_only_at_looks(blocks: int, center: float, *, done: bool) -> None:
    now = campaign({"a": around(center, 0.01, blocks)})
    assert enough(now, Yardsticks(gate=GATE, floors={"a": 1.5})) is done


@pytest.mark.parametrize(("expected", "outcome"), [(3.0, Outcome.PASS), (3.2, Outcome.REGRESSION)])
def test_without_a_baseline_a_phantoms_arithmetic_judges_the_drafts(expected: float, outcome: Outcome) -> None:
    yardsticks = Yardsticks(gate=GATE, floors={"a": 1.0}, expected_tau={"a": expected})
    assert verdicts(campaign({"a": around(2.0, 0.01)}), yardsticks)["a"].drafts.outcome is outcome


def test_a_class_without_a_record_is_not_held_against_the_old_prompts_drafts() -> None:
    narrower = replace(BASELINE, classes=("b",))
    now = campaign({"a": around(2.0, 0.01)}, accepted={"a": 54})
    result = verdicts(now, Yardsticks(gate=GATE, floors={"a": 1.0}, baseline=narrower))["a"]
    assert result.tau_then is None


@pytest.mark.parametrize(
    ("accepted", "cause"), [(64, Cause.STEP_COST), (54, Cause.DRAFT_QUALITY)], ids=["same drafts", "fewer drafts"]
)
def test_a_regression_names_its_cause(accepted: int, cause: Cause) -> None:
    now = campaign({"a": around(1.5, 0.005)}, accepted={"a": accepted})
    assert verdicts(now, Yardsticks(gate=GATE, baseline=BASELINE))["a"].speed.cause is cause


@pytest.mark.parametrize(
    ("blocks", "said"),
    [((), "only 0 valid blocks were measured"), ((2.0,), "only 1 valid block was measured")],
    ids=["none", "one"],
)
def test_a_campaign_of_too_few_blocks_counts_them(blocks: tuple[float, ...], said: str) -> None:
    result = verdicts(campaign({"a": blocks}), Yardsticks(gate=GATE, floors={"a": 1.5}))["a"]
    assert (result.speed.outcome, result.speed.reason) == (Outcome.INVALID, said)


@pytest.mark.parametrize(("blocks", "outcome"), [(3, Outcome.INCONCLUSIVE), (4, Outcome.REGRESSION)])
def test_a_campaign_that_ran_out_of_time_is_judged_at_a_planned_look_alone(blocks: int, outcome: Outcome) -> None:
    """Else every interruption, taken up again, would be one look more than alpha was shared among."""
    now = replace(campaign({"a": around(1.0, 0.01, blocks)}), stopped="the time limit ended it (--mtp-max-time)")
    found = verdicts(now, Yardsticks(gate=GATE, floors={"a": 1.5}))["a"].speed
    fresh = campaign({"a": around(1.0, 0.01, blocks)})
    confirmed = judge(now, Yardsticks(gate=GATE, floors={"a": 1.5}), fresh).results[0].speed
    assert confirmed.outcome is outcome
    if outcome is Outcome.INCONCLUSIVE:
        assert "was not judged by the floor 1.50x: the time limit ended it" in found.reason
