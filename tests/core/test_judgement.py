"""What a judgement tells: every number of it, every reason, and what fresh starts and failures do to it."""

import math
from dataclasses import replace

import pytest
from scipy.stats import t

from pytest_mtp.core.cause import Cause
from pytest_mtp.core.judge import Judgement, enough, failed, flagged, judge, too_few
from pytest_mtp.core.power import detectable
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.sample import ArmFailure, Block, Campaign, Stage
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.tau import acceptance
from pytest_mtp.core.verdict import ClassResult, Outcome
from pytest_mtp.core.yardsticks import Yardsticks
from tests.campaigns import around, campaign

GATE = Gate()
BASELINE = campaign({"a": around(2.0, 0.005, 12), "b": around(1.2, 0.005, 12)})


def verdicts(now: Campaign, yardsticks: Yardsticks) -> dict[str, ClassResult]:
    return {result.prompt_class: result for result in judge(now, yardsticks).results}


def failure(arm: Arm) -> ArmFailure:
    return ArmFailure(arm=arm, stage=Stage.START, message="GGML_ASSERT")


def held(now: Campaign, again: Campaign | None = None, **yardsticks: object) -> ClassResult:
    """The result of the first class, with a floor of 1.50x for ``a`` unless told otherwise."""
    told: dict[str, object] = {"gate": GATE, "floors": {"a": 1.5}}
    return judge(now, Yardsticks(**(told | yardsticks)), again).results[0]  # type: ignore[arg-type]  # anything


def test_a_result_tells_all_that_was_measured() -> None:
    now = campaign({"b": around(1.2, 0.01), "a": around(2.0, 0.01, 4)}, accepted={"a": 64})
    result = verdicts(now, Yardsticks(gate=GATE, baseline=BASELINE))["a"]
    sd = 0.01 * math.sqrt(4 / 3)
    half = float(t.ppf(1 - GATE.alpha_look, 3)) * sd / 2
    assert (result.flag_set, result.prompt_class, result.blocks) == ("n3", "a", 4)
    assert result.speedup == pytest.approx(2.0)
    assert result.level == pytest.approx(1 - 2 * GATE.alpha_look)
    assert pytest.approx((2 * math.exp(-half), 2 * math.exp(half))) == (result.low, result.high)
    assert result.block_sd == pytest.approx(sd)
    assert pytest.approx((100.0, 200.0)) == (result.plain_tps, result.mtp_tps)
    assert result.acceptance == acceptance(now, "a")
    assert pytest.approx((3.0, 1.5)) == (result.tau_then, result.step_cost)
    assert result.limit == Yardsticks(gate=GATE, baseline=BASELINE).limit("a")
    assert result.detectable == pytest.approx(detectable(sd, 4, GATE.alpha_look))


def test_a_class_that_was_not_measured_has_one_verdict_and_no_numbers() -> None:
    result = held(campaign({"a": (2.0,)}))
    assert (result.flag_set, result.prompt_class, result.blocks) == ("n3", "a", 1)
    assert result.speed == result.drafts
    assert (result.speedup, result.acceptance, result.limit, result.level) == (None, None, None, None)


def test_a_class_that_nothing_was_asked_of_is_invalid() -> None:
    verdict = held(replace(campaign({"a": around(2.0, 0.01)}), classes=("other", "a"))).speed
    assert (verdict.outcome, verdict.reason) == (Outcome.INVALID, "only 4 valid blocks were measured")


def untold(one: Campaign) -> Campaign:
    """The campaign of an engine that does not tell its drafts."""

    def silent(block: Block) -> Block:
        starts = (
            replace(start, samples=tuple(replace(s, timings=replace(s.timings, draft_n=None)) for s in start.samples))
            for start in block.starts
        )
        return replace(block, starts=tuple(starts))

    return replace(one, blocks=tuple(map(silent, one.blocks)))


@pytest.mark.parametrize("baseline", [None, BASELINE, untold(BASELINE)], ids=["a floor", "told then", "untold then"])
def test_an_engine_that_does_not_tell_its_drafts_is_judged_by_its_speed(baseline: Campaign | None) -> None:
    result = held(untold(campaign({"a": around(2.0, 0.01)})), baseline=baseline)
    assert (result.speed.outcome, result.drafts.outcome) == (Outcome.PASS, Outcome.NOT_TOLD)
    assert (result.acceptance, result.step_cost) == (None, None)


def test_what_drafted_nothing_says_where_to_look() -> None:
    result = held(campaign({"a": around(2.0, 0.01)}, drafted=0))
    assert result.speed.reason == (
        "the mtp arm drafted nothing: the server speculates by name only (see its command and log)"
    )
    assert result.drafts == result.speed
    # Too few blocks, or an arm that died, explain more than that.
    assert held(campaign({"a": (2.0,)}, drafted=0)).speed.outcome is Outcome.INVALID


def test_two_blocks_are_enough_for_an_interval() -> None:
    assert held(campaign({"a": around(2.0, 0.0001, 2)})).speed.outcome is Outcome.PASS
    assert held(campaign({"a": (2.0,)})).speed.outcome is Outcome.INVALID


def test_every_failed_arm_is_told_on_a_line_of_its_own() -> None:
    other = ArmFailure(arm=Arm.MTP, stage=Stage.WARM_UP, message="no answer")
    verdict = failed((failure(Arm.PLAIN), other))
    assert verdict.reason == "the plain arm failed in start: GGML_ASSERT\nthe mtp arm failed in warm-up: no answer"
    assert (verdict.outcome, verdict.cause) == (Outcome.ERROR, None)
    assert failed((other, other)).outcome is Outcome.REGRESSION


def test_a_failed_arm_ends_it_and_leaves_no_speed_to_judge() -> None:
    dead = campaign({"a": around(1.0, 0.01), "b": around(0.6, 0.01)}, failures=(failure(Arm.MTP),))
    yardsticks = Yardsticks(gate=GATE, baseline=BASELINE)
    assert enough(dead, yardsticks)
    assert enough(campaign({"a": ()}, failures=(failure(Arm.MTP),)), yardsticks)
    assert flagged(dead, yardsticks) == ()
    found = judge(dead, yardsticks)
    assert found.rates == ()
    assert {one.speed.cause for one in found.results} == {Cause.START_FAILURE}
    assert Judgement(results=()).rates == ()


def test_why_blocks_do_not_count_is_said_once_and_then_what_ended_it() -> None:
    measured = campaign({"a": around(2.0, 0.01, 5)})
    reasons = ("hot", None, "shared", "hot", "shared")
    blocks = tuple(replace(one, invalid=why) for one, why in zip(measured.blocks, reasons, strict=True))
    spoiled = replace(measured, blocks=blocks)
    assert too_few(spoiled) == "only 1 valid block was measured; hot; shared"
    assert too_few(replace(spoiled, stopped="no time")) == "only 1 valid block was measured; hot; shared; no time"
    assert too_few(replace(measured, blocks=())) == "only 0 valid blocks were measured"


def test_only_classes_with_a_limit_are_tested_and_share_its_alpha() -> None:
    """A class without one is shown at the level of a look, and takes nothing from the others."""
    now = campaign({"a": around(1.0, 0.01), "b": around(1.0, 0.01)})
    results = verdicts(now, Yardsticks(gate=GATE, floors={"a": 1.5}))
    assert (results["a"].speed.outcome, results["b"].speed.outcome) == (Outcome.REGRESSION, Outcome.NO_BASELINE)
    assert results["a"].level == results["b"].level == pytest.approx(1 - 2 * GATE.alpha_look)
    both = verdicts(now, Yardsticks(gate=GATE, floors={"a": 1.5, "b": 1.5}))
    assert min(one.level or 1 for one in both.values()) == pytest.approx(1 - 2 * GATE.alpha_look)
    assert max(one.level or 0 for one in both.values()) == pytest.approx(1 - GATE.alpha_look)


@pytest.mark.parametrize(
    ("now", "blocks", "flags"),
    [
        ({"a": 1.0, "b": 1.2}, 4, ("a",)),
        ({"a": 1.0, "b": 0.6}, 4, ("a", "b")),
        ({"a": 1.0, "b": 0.6}, 2, ("a", "b")),
        ({"a": 1.0, "b": 0.6}, 1, ()),
        ({"a": 2.0, "b": 1.2}, 4, ()),
    ],
)
def test_what_is_below_its_limit_is_flagged(now: dict[str, float], blocks: int, flags: tuple[str, ...]) -> None:
    measured = campaign({name: around(center, 0.0001, blocks) for name, center in now.items()})
    assert flagged(measured, Yardsticks(gate=GATE, baseline=BASELINE)) == flags


LOST = campaign({"a": around(1.0, 0.01)})
DEAD = failure(Arm.MTP)


@pytest.mark.parametrize(
    ("again", "outcome", "said"),
    [
        (campaign({"a": around(1.0, 0.001, 2)}), Outcome.REGRESSION, ", and so in 2 blocks of fresh starts"),
        (campaign({"a": around(2.0, 0.001, 3)}), Outcome.INCONCLUSIVE, ", and not in 3 blocks of fresh starts: "),
        (campaign({"a": (1.0,)}), Outcome.INCONCLUSIVE, "measured again in fresh starts: too few blocks"),
        (campaign({"a": ()}, failures=(DEAD,)), Outcome.REGRESSION, ", and so in 0 blocks of fresh starts"),
        # Not the mtp arm alone: that says nothing of MTP.
        (campaign({"a": ()}, failures=(DEAD, failure(Arm.PLAIN))), Outcome.INCONCLUSIVE, "too few blocks"),
        (campaign({"b": around(2.0, 0.01)}), Outcome.REGRESSION, "is below the floor 1.50x"),
        (None, Outcome.REGRESSION, "is below the floor 1.50x"),
    ],
    ids=["recurs", "does not", "one block", "mtp dead", "both dead", "another class", "not asked"],
)
def test_fresh_starts_decide_whether_a_loss_is_red(again: Campaign | None, outcome: Outcome, said: str) -> None:
    verdict = held(LOST, again).speed
    assert verdict.outcome is outcome
    assert said in verdict.reason
    assert ("fresh starts" in verdict.reason) is (again is not None and "a" in again.classes)


def test_what_ended_the_first_campaign_is_told_before_what_ended_the_second() -> None:
    again = replace(campaign({"a": (1.0,)}), stopped="no time for more")
    assert held(LOST, again).speed.reason.endswith("fresh starts: no time for more")
    assert held(replace(LOST, stopped="first"), again).speed.reason.endswith("fresh starts: first")
    # Of a campaign that did not ask for this class nothing is told.
    elsewhere = replace(campaign({"b": (1.0,)}), stopped="no time for more")
    undecided = campaign({"a": around(1.5, 0.01)})
    assert "no time" not in held(undecided, elsewhere).speed.reason
    assert "was not judged by the floor 1.50x: no time for more" in held(undecided, again).speed.reason


def test_a_class_without_a_limit_asks_nothing_of_fresh_starts() -> None:
    assert held(LOST, campaign({"a": around(2.0, 0.01)}), floors={}).speed.outcome is Outcome.NO_BASELINE


@pytest.mark.parametrize(("blocks", "center", "done"), [(12, 1.5, True), (13, 1.5, True), (11, 9.0, False)])
def test_nothing_is_measured_beyond_the_last_look(blocks: int, center: float, *, done: bool) -> None:
    assert enough(campaign({"a": around(center, 0.01, blocks)}), Yardsticks(gate=GATE, floors={"a": 1.5})) is done


def test_between_looks_no_speed_is_judged_either() -> None:
    now = campaign({"a": around(2.0, 0.01, 3), "b": around(1.2, 0.01, 3)})
    yardsticks = Yardsticks(gate=GATE, baseline=BASELINE)
    assert {one.flag_set for one in judge(now, yardsticks).rates} == {"n3"}
    assert judge(replace(now, stopped="no time"), yardsticks).rates == ()
    assert judge(now, replace(yardsticks, baseline=campaign({"c": around(2.0, 0.01)}))).rates == ()
