"""A report that was changed after it was measured: what does not follow from its samples is named."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pytest_mtp.core.baseline import Recorded
from pytest_mtp.core.cause import Cause
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.rate import Rate
from pytest_mtp.core.recheck import recheck
from pytest_mtp.core.run_report import REPORT_VERSION, Judged, RunReport
from pytest_mtp.core.sample import Block, Campaign, Start
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.study import Check, Study
from pytest_mtp.core.verdict import Outcome
from tests.campaigns import around, campaign
from tests.comparisons import base, compared, stretched
from tests.studies import latency, memory, report_of

MEASURED = campaign({"code": around(2.0, 0.01), "chat": around(1.2, 0.01)})
SLOWER = stretched(MEASURED, plain=1.5, mtp=1.5)
BASELINE = (Recorded(recorded_at="2026-01-01T00:00:00+00:00", recorder="pytest-mtp", campaign=MEASURED),)


def report(*judged: Judged) -> RunReport:
    return RunReport(
        version=REPORT_VERSION, created_at="now", tool="t", profile="p", machine={}, judged=judged or (told(),)
    )


def told(measured: Campaign = MEASURED, **changes: Any) -> Judged:
    return Judged(campaign=measured, gate=Gate(), sessions=BASELINE, **changes).rejudged()


def changed(judged: Judged, **changes: Any) -> Judged:
    """With the result of the first class as somebody would rather have it."""
    return replace(judged, results=(replace(judged.results[0], **changes), *judged.results[1:]))


@pytest.mark.parametrize(
    "judged",
    [
        told(),
        told(SLOWER),
        Judged(campaign=MEASURED, gate=Gate(), floors={"code": 2.5}).rejudged(),
        Judged(campaign=stretched(base(), mtp=1.3), gate=Gate(), compared=compared(base())).rejudged(),
    ],
    ids=["same", "slower", "floor", "comparison"],
)
def test_a_report_that_was_left_alone_says_what_its_samples_say(judged: Judged) -> None:
    assert judged.results
    assert recheck(report(judged)) == ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"speedup": 2.5}, r"n3, code: speedup is 2.5 in the report; its samples give 2.0"),
        ({"speedup": None}, r"n3, code: speedup is nothing in the report; its samples give 2.0"),
        ({"low": 1.99999999}, r"n3, code: low is 1.99999999 in the report"),
        ({"blocks": 12}, r"n3, code: blocks is 12 in the report; its samples give 4."),
        ({"limit": None}, r"n3, code: limit is nothing in the report; its samples give a value."),
    ],
)
def test_a_changed_number_is_named_alone(changes: dict[str, Any], said: str) -> None:
    (sentence,) = recheck(report(changed(told(), **changes)))
    assert sentence.startswith(said)


@pytest.mark.parametrize(("off_by", "sentences"), [(1e-12, 0), (1e-8, 1)])
def test_only_what_another_processor_rounds_otherwise_is_let_pass(off_by: float, sentences: int) -> None:
    judged = told()
    speedup = judged.results[0].speedup
    assert speedup is not None
    assert len(recheck(report(changed(judged, speedup=speedup * (1 + off_by))))) == sentences


def test_a_changed_verdict_is_named_with_its_cause() -> None:
    lost = told(stretched(MEASURED, mtp=1.4))
    assert lost.results[0].speed.outcome is Outcome.REGRESSION
    better = changed(lost, speed=replace(lost.results[0].speed, outcome=Outcome.PASS, cause=Cause.PLAIN_FASTER))
    assert recheck(report(better)) == (
        "n3, code: speed.outcome is PASS in the report; its samples give REGRESSION.",
        "n3, code: speed.cause is plain arm faster in the report; its samples give step cost.",
    )


def test_a_changed_sample_makes_what_was_concluded_from_it_not_follow() -> None:
    def quicker(start: Start) -> Start:
        if start.arm is Arm.PLAIN:
            return start
        first, *rest = start.samples
        return replace(start, samples=(replace(first, timings=replace(first.timings, predicted_ms=100.0)), *rest))

    def touched(block: Block) -> Block:
        return replace(block, starts=tuple(map(quicker, block.starts))) if block.index == 0 else block

    judged = told()
    forged = replace(judged, campaign=replace(judged.campaign, blocks=tuple(map(touched, judged.campaign.blocks))))
    said = recheck(report(forged))
    for name in ("speedup", "low", "high", "mtp_tps", "step_cost"):
        assert any(one.startswith(f"n3, code: {name} is ") for one in said)
    assert not any(one.startswith("n3, chat") for one in said)


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (lambda one: replace(one, results=one.results[1:]), "n3, code: the report has no result; its samples give"),
        (lambda one: replace(one, results=(*one.results, one.results[0])), "n3, code: the report has 2 results"),
        (
            lambda one: replace(one, results=(*one.results, replace(one.results[0], prompt_class="poem"))),
            "n3, poem: the report has a result, and no samples for it.",
        ),
    ],
)
def test_results_that_were_taken_out_or_put_in_are_named(forge: Callable[[Judged], Judged], said: str) -> None:
    assert recheck(report(forge(told())))[0].startswith(said)


def test_a_speed_that_was_changed_is_named() -> None:
    judged = told(SLOWER)
    forged = replace(judged, rates=(replace(judged.rates[0], now_tps=1.0), *judged.rates[1:]))
    (sentence,) = recheck(report(forged))
    assert sentence.startswith("n3, plain tok/s: now_tps is 1.0 in the report; its samples give")


def test_a_loss_of_speed_that_was_taken_out_is_named_and_a_passed_one_is_that_of_an_older_format() -> None:
    assert recheck(report(replace(told(), rates=()))) == ()
    said = recheck(report(replace(told(SLOWER), rates=())))
    assert [one.split(":")[0] for one in said] == [f"n3, {rate.value}" for rate in (Rate.PLAIN, Rate.MTP)]
    assert all("its samples give REGRESSION" in one for one in said)


def test_samples_that_cannot_be_judged_prove_nothing() -> None:
    broken = replace(MEASURED, blocks=tuple(replace(block, starts=block.starts[:1]) for block in MEASURED.blocks))
    (sentence,) = recheck(report(replace(told(), campaign=broken)))
    assert sentence.startswith("n3: its samples cannot be judged (")


@pytest.mark.parametrize("study", [latency(), latency(most=1.0), latency(around(1.5, 0.2), most=1.5)])
def test_a_study_that_was_left_alone_follows_from_its_samples(study: Study) -> None:
    assert study.results
    assert recheck(report_of(study)) == ()


def test_a_study_without_campaigns_follows_from_its_flag_sets_own() -> None:
    study = memory(MEASURED)
    assert recheck(replace(report(), studies=(study,))) == ()
    (sentence,) = recheck(report_of(study))
    assert sentence.startswith("n3, memory: its samples cannot be judged (")


def test_a_ratio_of_a_study_that_was_changed_is_named_alone() -> None:
    study = latency()
    first, *rest = study.results
    forged = replace(study, results=(replace(first, ratio=1.1), *rest))
    (sentence,) = recheck(report_of(forged))
    assert sentence.startswith("n3, latency, time to first token: ratio is 1.1 in the report; its samples give 1.5")


def test_a_verdict_of_a_study_that_was_changed_is_named() -> None:
    lost = latency(most=1.0)
    forged = replace(lost, verdict=replace(lost.verdict, outcome=Outcome.PASS))
    assert recheck(report_of(forged)) == (
        "n3, latency: verdict.outcome is PASS in the report; its samples give REGRESSION.",
    )


@pytest.mark.parametrize(
    "forge",
    [
        lambda one: replace(one, results=one.results[1:]),
        lambda one: replace(one, checks=(Check(name="texts", outcome=Outcome.PASS, said="all the same"),)),
    ],
)
def test_ratios_and_checks_of_a_study_that_were_taken_out_or_put_in_are_named(forge: Callable[[Study], Study]) -> None:
    (sentence,) = recheck(report_of(forge(latency())))
    assert sentence == "n3, latency: the report has not the ratios and checks that its samples give."
