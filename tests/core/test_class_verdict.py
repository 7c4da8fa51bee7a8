"""The two verdicts of one class, and the sentence that each of them is told in."""

import math
from dataclasses import replace

import pytest

from pytest_mtp.core.cause import Cause, CostChange, Shift
from pytest_mtp.core.change import Change
from pytest_mtp.core.class_verdict import Recurrence, Subject, draft_verdict
from pytest_mtp.core.decision import Evidence, Finding
from pytest_mtp.core.factors import Factors
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.speedup import Estimate
from pytest_mtp.core.tau import Acceptance
from pytest_mtp.core.verdict import Limit, Outcome, Verdict, Yardstick
from tests.campaigns import around

GATE = Gate(tolerance=0.05, tau_tolerance=0.25, tps_tolerance=0.1, alpha=0.09, looks=(4, 8, 12))
COUNTS = Acceptance(tokens=96, drafted=100, accepted=64, repeatable=True)
COUNTED = "tokens per step 3.00, 64 of 100 drafts accepted"
FLOOR = Limit(speedup=1.5, yardstick=Yardstick.FLOOR)
BASELINE = Limit(speedup=1.9, yardstick=Yardstick.BASELINE, baseline=2.0, tolerance=0.05)


def estimate(center: float, blocks: int = 4) -> Estimate:
    return Estimate(tuple(math.log(one) for one in around(center, 0.01, blocks)))


def evidence(finding: Finding, low: float = 1.0, high: float = 3.0) -> Evidence:
    return Evidence(finding=finding, level=0.9, low=low, high=high)


def subject(**changes: object) -> Subject:
    """A class at 2.00x over 4 of 12 blocks, above a floor of 1.50x, without a word about its drafts before."""
    values: dict[str, object] = {
        "now": estimate(2.0),
        "counts": COUNTS,
        "limit": FLOOR,
        "tau_then": None,
        "evidence": evidence(Finding.ABOVE),
        "gate": GATE,
        "stopped": None,
    }
    return Subject(**(values | changes))  # type: ignore[arg-type]  # a test may say anything


MEASURED = "speedup 2.00x [1.00, 3.00] (90.0% interval, 4 blocks)"


def factors(tau: float, speedup: float, plain: float) -> Factors:
    tokens = 960
    return Factors(
        acceptance=Acceptance(tokens=tokens, drafted=tokens, accepted=round(tokens - tokens / tau), repeatable=True),
        speedup=estimate(speedup),
        step_cost=estimate(tau / speedup),
        plain_tps=estimate(plain),
        mtp_tps=estimate(plain * speedup),
        prompt_tps=Estimate(()),
    )


def shift(now: Factors, then: Factors) -> Shift:
    return Shift(now=now, then=then, cost=CostChange(change=Change(then.step_cost, now.step_cost), pooled=False))


THEN = factors(3.0, 2.0, 100.0)
DEARER = shift(factors(3.0, 1.6, 100.0), THEN)
EXCUSED = shift(factors(3.0, 1.6, 125.0), THEN)


def test_without_a_limit_there_is_no_verdict_and_the_way_to_one_is_named() -> None:
    verdict = subject(limit=None, evidence=None).speed()
    assert verdict == Verdict(
        outcome=Outcome.NO_BASELINE,
        reason="speedup 2.00x over 4 blocks, with neither baseline nor floor to hold it against; "
        "record one with --mtp-update-baselines=new",
    )
    assert subject(evidence=None).speed().outcome is Outcome.NO_BASELINE
    assert subject(limit=None).speed().outcome is Outcome.NO_BASELINE


@pytest.mark.parametrize(
    ("limit", "low", "outcome", "said"),
    [
        (FLOOR, 1.6, Outcome.PASS, "is above the floor 1.50x"),
        (BASELINE, 1.95, Outcome.PASS, "is above 1.90x (baseline 2.00x less 5.0%), was 2.00x (+0.0%)"),
        # The whole interval must lie above the baseline and the tolerance: its end on it is not above it.
        (BASELINE, 2.1, Outcome.PASS, "is above 1.90x (baseline 2.00x less 5.0%), was 2.00x (+0.0%)"),
        (
            BASELINE,
            2.11,
            Outcome.IMPROVED,
            "is above the baseline, was 2.00x (+0.0%); record it: --mtp-update-baselines=all",
        ),
        (FLOOR, 9.0, Outcome.PASS, "is above the floor 1.50x"),  # nothing was recorded that it could improve on
    ],
)
def test_what_is_above_its_limit_passes_or_improved(limit: Limit, low: float, outcome: Outcome, said: str) -> None:
    found = subject(limit=limit, evidence=evidence(Finding.ABOVE, low, 9.5)).speed()
    assert found == Verdict(
        outcome=outcome, reason=f"speedup 2.00x [{low:.2f}, 9.50] (90.0% interval, 4 blocks) {said}"
    )


@pytest.mark.parametrize(
    ("blocks", "stopped", "said"),
    [
        (4, None, "straddles the floor 1.50x; measuring ended early, with the loss of another class"),
        (8, None, "straddles the floor 1.50x; measuring ended early, with the loss of another class"),
        (12, None, "straddles the floor 1.50x; more blocks or a quieter machine decide"),
        (13, None, "straddles the floor 1.50x; more blocks or a quieter machine decide"),
        (8, "no time", "was not judged by the floor 1.50x: no time"),
    ],
)
def test_an_open_class_says_why_it_is_open(blocks: int, stopped: str | None, said: str) -> None:
    found = subject(now=estimate(2.0, blocks), evidence=evidence(Finding.OPEN), stopped=stopped).speed()
    assert found.outcome is Outcome.INCONCLUSIVE
    assert found.reason.endswith(f"(90.0% interval, {blocks} blocks) {said}")


LOW = {"now": estimate(1.6), "evidence": evidence(Finding.BELOW), "limit": BASELINE, "fresh_blocks": 5}
BELOW = "speedup 1.60x [1.00, 3.00] (90.0% interval, 4 blocks) is below 1.90x (baseline 2.00x less 5.0%)"
MOVED = ", was 2.00x (-20.0%)"


@pytest.mark.parametrize(
    ("recurrence", "stopped", "outcome", "said"),
    [
        (Recurrence.NOT_ASKED, None, Outcome.REGRESSION, MOVED),
        (Recurrence.CONFIRMED, None, Outcome.REGRESSION, f", and so in 5 blocks of fresh starts{MOVED}"),
        (
            Recurrence.REFUTED,
            None,
            Outcome.INCONCLUSIVE,
            ", and not in 5 blocks of fresh starts: a loss that does not recur",
        ),
        (
            Recurrence.OPEN,
            None,
            Outcome.INCONCLUSIVE,
            "; it could not be measured again in fresh starts: too few blocks",
        ),
        (Recurrence.OPEN, "no time", Outcome.INCONCLUSIVE, "; it could not be measured again in fresh starts: no time"),
    ],
)
def test_a_loss_is_red_unless_fresh_starts_take_it_back(
    recurrence: Recurrence, stopped: str | None, outcome: Outcome, said: str
) -> None:
    found = subject(**LOW, recurrence=recurrence, stopped=stopped).speed()
    assert (found.outcome, found.reason) == (outcome, BELOW + said)
    assert found.cause is (Cause.STEP_COST if outcome is Outcome.REGRESSION else None)


def test_a_loss_that_a_faster_plain_arm_explains_passes_with_that_cause() -> None:
    found = subject(**LOW, shift=EXCUSED).speed()
    assert (found.outcome, found.cause) == (Outcome.PASS, Cause.PLAIN_FASTER)
    assert found.reason == f"{BELOW}, but the mtp arm held: only the plain arm got faster{MOVED}: {EXCUSED}"


def test_how_far_a_plain_arm_may_drift_is_the_profiles_to_say() -> None:
    found = subject(**LOW, shift=EXCUSED, gate=replace(GATE, tps_tolerance=0.3)).speed()
    assert (found.outcome, found.cause) == (Outcome.REGRESSION, Cause.STEP_COST)


def test_a_loss_tells_factor_by_factor_what_moved() -> None:
    found = subject(**LOW, shift=DEARER).speed()
    assert (found.outcome, found.cause) == (Outcome.REGRESSION, Cause.STEP_COST)
    assert found.reason == f"{BELOW}{MOVED}: {DEARER}"


# tau is 3.00, and may be a quarter lower than it was: 4.00 is the last it may have been.
@pytest.mark.parametrize(
    ("tau_then", "cause"),
    [(None, Cause.STEP_COST), (4.0, Cause.STEP_COST), (4.01, Cause.DRAFT_QUALITY), (2.0, Cause.STEP_COST)],
)
def test_below_a_floor_drafts_are_blamed_where_fewer_were_accepted_than_may_be(
    tau_then: float | None, cause: Cause
) -> None:
    found = subject(evidence=evidence(Finding.BELOW), tau_then=tau_then).speed()
    assert (found.outcome, found.cause) == (Outcome.REGRESSION, cause)
    assert found.reason == f"{MEASURED} is below the floor 1.50x"


def test_where_drafts_are_not_told_no_factor_is_blamed() -> None:
    found = subject(**LOW, counts=None, shift=DEARER)
    assert (found.speed().outcome, found.speed().cause) == (Outcome.REGRESSION, None)
    assert found.drafts(found.speed()) == Verdict(
        outcome=Outcome.NOT_TOLD,
        reason="the engine does not tell its drafts, so whether as many are accepted is not known",
    )


@pytest.mark.parametrize(
    ("accepted", "drafted", "outcome", "said"),
    [
        (64, 100, Outcome.PASS, f"{COUNTED}; no baseline, above the floor of 1%"),
        (1, 100, Outcome.PASS, "tokens per step 1.01, 1 of 100 drafts accepted; no baseline, above the floor of 1%"),
        (1, 101, Outcome.REGRESSION, "tokens per step 1.01, 1 of 101 drafts accepted: below the floor of 1%"),
        (0, 0, Outcome.REGRESSION, "tokens per step 1.00, 0 of 0 drafts accepted: below the floor of 1%"),
    ],
)
def test_a_head_of_which_nothing_is_known_must_agree_now_and_then(
    accepted: int, drafted: int, outcome: Outcome, said: str
) -> None:
    counts = replace(COUNTS, accepted=accepted, drafted=drafted)
    verdict = subject(counts=counts).drafts(Verdict(outcome=Outcome.PASS, reason=""))
    assert (verdict.outcome, verdict.reason) == (outcome, said)
    assert verdict.cause is (Cause.DRAFT_QUALITY if outcome is Outcome.REGRESSION else None)


@pytest.mark.parametrize(
    ("then", "change", "held"),
    [(3.0, "+0.0%", True), (2.0, "+50.0%", True), (4.0, "-25.0%", True), (4.1, "-26.8%", False)],
)
def test_fewer_tokens_per_step_are_told_and_red_beyond_the_tolerance(then: float, change: str, *, held: bool) -> None:
    lost = Verdict(outcome=Outcome.REGRESSION, reason="slower")
    expected = (Outcome.PASS, None) if held else (Outcome.REGRESSION, Cause.DRAFT_QUALITY)
    verdict = draft_verdict(COUNTS, then, lost, GATE)
    assert (verdict.outcome, verdict.cause) == expected
    assert verdict.reason == f"{COUNTED}; tokens per step were {then:.2f} ({change})"


FEWER = f"{COUNTED}; tokens per step were 6.00 (-50.0%)"


@pytest.mark.parametrize("speed", Outcome)
def test_fewer_drafts_are_red_with_a_loss_of_speed_and_open_with_an_open_one(speed: Outcome) -> None:
    found = draft_verdict(COUNTS, 6.0, Verdict(outcome=speed, reason=""), GATE)
    if speed is Outcome.REGRESSION:
        assert found == Verdict(outcome=Outcome.REGRESSION, reason=FEWER, cause=Cause.DRAFT_QUALITY)
    elif speed in {Outcome.INCONCLUSIVE, Outcome.NO_BASELINE, Outcome.INVALID}:
        reason = f"{FEWER}; whether speed was lost is undecided"
        assert found == Verdict(outcome=Outcome.INCONCLUSIVE, reason=reason)
    else:
        reason = f"{FEWER}; the speed held, so this is said and not judged"
        assert found == Verdict(outcome=Outcome.PASS, reason=reason)


@pytest.mark.parametrize("speed", Outcome)
def test_drafts_that_follow_from_arithmetic_need_no_loss_of_speed(speed: Outcome) -> None:
    held = Verdict(outcome=speed, reason="")
    red = Verdict(outcome=Outcome.REGRESSION, reason=FEWER, cause=Cause.DRAFT_QUALITY)
    assert draft_verdict(COUNTS, 6.0, held, GATE, alone=True) == red


@pytest.mark.parametrize(
    ("limit", "outcome"),
    [(None, Outcome.REGRESSION), (FLOOR, Outcome.REGRESSION), (BASELINE, Outcome.PASS)],
    ids=["no limit", "a floor", "a baseline"],
)
def test_tau_is_held_against_arithmetic_where_no_baseline_is(limit: Limit | None, outcome: Outcome) -> None:
    assert subject(limit=limit, tau_then=6.0).drafts(Verdict(outcome=Outcome.PASS, reason="")).outcome is outcome


def test_the_interval_that_is_shown_is_the_one_that_decided() -> None:
    assert subject().level == 0.9
    # Nothing was decided: the level at which a look would have been.
    assert subject(evidence=None).level == pytest.approx(1 - 2 * 0.09 / 3)


def test_a_class_of_which_nothing_else_is_said_was_not_measured_again() -> None:
    assert (subject().recurrence, subject().fresh_blocks, subject().shift) == (Recurrence.NOT_ASKED, 0, None)
