"""What takes a red back: fresh starts, a plain arm that got faster, a machine that got poorer."""

import math
from dataclasses import replace
from itertools import cycle

import pytest

from pytest_mtp.core.baseline import merged
from pytest_mtp.core.calibration import Calibration
from pytest_mtp.core.cause import Cause
from pytest_mtp.core.environment import memory_bandwidth
from pytest_mtp.core.judge import flagged, judge
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.rate import Rate
from pytest_mtp.core.sample import ArmFailure, Campaign, Stage, Start
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.telemetry import Telemetry, TelemetrySource
from pytest_mtp.core.verdict import Outcome, Verdict
from pytest_mtp.core.yardsticks import Yardsticks
from tests.campaigns import around, campaign

GATE = Gate()
THEN = campaign({"a": around(2.0, 0.005, 12), "b": around(1.2, 0.005, 12)})
YARDSTICKS = Yardsticks(gate=GATE, baseline=THEN, calibration=Calibration(sessions=3))
LOST = campaign({"a": around(1.7, 0.005), "b": around(1.2, 0.005)})


def speed(again: Campaign | None, now: Campaign = LOST) -> Verdict:
    return judge(now, YARDSTICKS, again).results[0].speed


def slowed(now: Campaign, by: dict[Arm, float], **start: object) -> Campaign:
    """The campaign with the times of an arm stretched; ``start`` changes what is said of every start."""

    def changed(one: Start) -> Start:
        samples = tuple(
            replace(
                sample, timings=replace(sample.timings, predicted_ms=sample.timings.predicted_ms * by.get(one.arm, 1))
            )
            for sample in one.samples
        )
        return replace(one, samples=samples, **start)  # type: ignore[arg-type]  # a test may say anything

    blocks = tuple(replace(block, starts=tuple(map(changed, block.starts))) for block in now.blocks)
    return replace(now, blocks=blocks)


def test_only_what_is_below_its_limit_is_measured_again() -> None:
    assert flagged(LOST, YARDSTICKS) == ("a",)
    assert flagged(THEN, YARDSTICKS) == ()


def test_a_loss_that_recurs_is_red_and_says_so() -> None:
    verdict = speed(campaign({"a": around(1.72, 0.005)}))
    assert verdict.outcome is Outcome.REGRESSION
    assert "and so in 4 blocks of fresh starts, was 2.00x (-15.0%)" in verdict.reason


def test_a_loss_that_does_not_recur_is_no_answer() -> None:
    verdict = speed(campaign({"a": around(2.0, 0.005)}))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "not in 4 blocks of fresh starts: a loss that does not recur" in verdict.reason


def test_a_loss_that_could_not_be_repeated_is_no_answer() -> None:
    stopped = replace(campaign({"a": ()}), stopped="the time limit ended it after 0 valid blocks")
    verdict = speed(stopped)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "could not be measured again in fresh starts: the time limit ended it" in verdict.reason


def test_an_mtp_arm_that_no_longer_starts_confirms_the_loss() -> None:
    dead = ArmFailure(arm=Arm.MTP, stage=Stage.START, message="it died")
    assert speed(campaign({"a": ()}, failures=(dead,))).outcome is Outcome.REGRESSION


def test_a_ratio_that_fell_because_the_plain_arm_got_faster_is_said_and_not_red() -> None:
    now = slowed(THEN, {Arm.PLAIN: 0.8})
    verdict = speed(None, now)
    assert verdict.outcome is Outcome.PASS
    assert verdict.cause is Cause.PLAIN_FASTER
    assert "the mtp arm held: only the plain arm got faster" in verdict.reason
    assert "plain arm 25.0% faster" in verdict.reason


def rates(now: Campaign, again: Campaign | None = None) -> dict[Rate, Verdict]:
    return {one.rate: one.verdict for one in judge(now, YARDSTICKS, again).rates}


def test_an_engine_that_is_slower_as_a_whole_is_red_although_the_ratio_held() -> None:
    now = slowed(THEN, {Arm.PLAIN: 1.3, Arm.MTP: 1.3})
    assert speed(None, now).outcome is Outcome.PASS
    found = rates(now)
    assert {one.outcome for one in found.values()} == {Outcome.REGRESSION}
    assert {one.cause for one in found.values()} == {Cause.WHOLE_ENGINE}
    assert flagged(now, YARDSTICKS) == ("a", "b")


@pytest.mark.parametrize(("again", "outcome"), [(1.3, Outcome.REGRESSION), (1.0, Outcome.INCONCLUSIVE)])
def test_a_slower_engine_is_red_when_it_recurs(again: float, outcome: Outcome) -> None:
    now = slowed(THEN, {Arm.PLAIN: 1.3, Arm.MTP: 1.3})
    found = rates(now, slowed(THEN, {Arm.PLAIN: again, Arm.MTP: again}))
    assert {one.outcome for one in found.values()} == {outcome}


def test_one_slow_arm_is_no_slow_engine() -> None:
    found = rates(slowed(THEN, {Arm.MTP: 1.3}))
    assert (found[Rate.PLAIN].outcome, found[Rate.MTP].outcome) == (Outcome.PASS, Outcome.REGRESSION)
    assert found[Rate.MTP].cause is None


def test_a_slow_engine_on_a_throttled_card_is_the_environment() -> None:
    fast = Telemetry(source=TelemetrySource.NVML, looks=9, sm_clock_mhz=1725.0)
    then = slowed(THEN, {}, telemetry=fast)
    now = slowed(THEN, {Arm.PLAIN: 1.3, Arm.MTP: 1.3}, telemetry=replace(fast, sm_clock_mhz=1365.0))
    found = judge(now, replace(YARDSTICKS, baseline=then)).rates
    assert {one.verdict.outcome for one in found} == {Outcome.INVALID}
    assert {one.verdict.cause for one in found} == {Cause.ENVIRONMENT}
    assert "the card ran at 1365 MHz, at 1725 MHz when recorded" in found[0].verdict.reason


def on_memory(measured: Campaign, *readings: float) -> Campaign:
    """The campaign with these readings of the machine's memory before its blocks, in turn; bytes per second."""
    blocks = zip(measured.blocks, cycle(readings), strict=False)
    return replace(measured, blocks=tuple(replace(block, memory_bandwidth=one) for block, one in blocks))


@pytest.mark.parametrize(
    ("readings", "outcome"),
    [
        ((15e9, 17e9), Outcome.INVALID),
        ((19e9, 20e9), Outcome.REGRESSION),
        # As low on average, and so unsteady that it proves nothing.
        ((7e9, 40e9), Outcome.REGRESSION),
    ],
)
def test_a_slow_engine_on_slow_memory_is_the_environment(readings: tuple[float, ...], outcome: Outcome) -> None:
    now = on_memory(slowed(THEN, {Arm.PLAIN: 1.3, Arm.MTP: 1.3}), *readings)
    found = judge(now, replace(YARDSTICKS, baseline=on_memory(THEN, 20e9, 21e9))).rates
    assert {one.verdict.outcome for one in found} == {outcome}


def test_the_bandwidth_of_a_campaign_is_its_cards_or_the_mean_of_its_blocks() -> None:
    read = on_memory(THEN, 10e9, 40e9)
    card = replace(read, circumstances=replace(read.circumstances, memory_bandwidth=936e9))
    assert memory_bandwidth(read) == pytest.approx(20e9)
    assert memory_bandwidth(card) == 936e9
    assert memory_bandwidth(THEN) is None


def test_without_a_baseline_no_speed_is_judged() -> None:
    assert judge(LOST, Yardsticks(gate=GATE, floors={"a": 1.0})).rates == ()


def test_sessions_are_one_baseline_of_the_classes_that_all_have() -> None:
    both = merged([THEN, campaign({"a": around(2.1, 0.005)})])
    assert both is not None
    assert (both.classes, len(both.valid)) == (("a",), 16)
    assert merged([]) is None


def test_a_baseline_of_several_sessions_needs_no_room_for_its_own_error() -> None:
    once = replace(YARDSTICKS, calibration=Calibration(sessions=1)).limit("a")
    often = YARDSTICKS.limit("a")
    assert once is not None
    assert often is not None
    assert often.tolerance == GATE.tolerance
    assert once.tolerance == pytest.approx(0.05 + 2 * 0.005 * math.sqrt(12 / 11) / math.sqrt(12), rel=1e-6)


def test_what_a_campaign_could_have_found_is_told() -> None:
    quiet, noisy = (judge(campaign({"a": around(2.0, sd)}), YARDSTICKS).results[0] for sd in (0.005, 0.03))
    assert quiet.detectable is not None
    assert noisy.detectable is not None
    assert quiet.detectable < noisy.detectable
