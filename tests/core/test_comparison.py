"""Head against base: each planted difference gets its verdict and its cause."""

import random
import re
from dataclasses import replace

import pytest

from pytest_mtp.core.cause import Cause
from pytest_mtp.core.comparison import Compared, decided, judge_against
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.rate import Rate
from pytest_mtp.core.sample import ArmFailure, Campaign, Stage
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.tier import Rule, Tier
from pytest_mtp.core.verdict import ClassResult, Outcome, Verdict
from tests.comparisons import base, compared, stretched

GATE = Gate()
BASE = base()
FAILED = (ArmFailure(arm=Arm.MTP, stage=Stage.START, message="no context"),)


def results(head: Campaign, to: Compared | None = None) -> tuple[ClassResult, ...]:
    return judge_against(head, to or compared(BASE), GATE).results


def speeds(head: Campaign, to: Compared | None = None) -> set[tuple[Outcome, Cause | None]]:
    return {(one.speed.outcome, one.speed.cause) for one in results(head, to)}


def test_an_unchanged_head_passes_in_every_class_and_speed() -> None:
    judgement = judge_against(stretched(BASE), compared(BASE), GATE)
    assert {one.speed.outcome for one in judgement.results} == {Outcome.PASS}
    assert {one.rate: one.verdict.outcome for one in judgement.rates} == dict.fromkeys(
        (Rate.PLAIN, Rate.MTP), Outcome.PASS
    )


@pytest.mark.parametrize(
    ("head", "cause", "words"),
    [
        (stretched(BASE, mtp=1.15), Cause.STEP_COST, r"a step costs 1[45]\.\d%"),
        (stretched(base(accepted=56), mtp=1.2), Cause.DRAFT_QUALITY, r"tokens per step 2\.40, were 3\.00 \(-20\.0%\)"),
        (stretched(BASE, plain=1.2, mtp=1.2), Cause.WHOLE_ENGINE, r"plain arm 1[67]\.\d% slower"),
    ],
)
def test_each_loss_is_red_with_its_cause(head: Campaign, cause: Cause, words: str) -> None:
    assert speeds(head) == {(Outcome.REGRESSION, cause)}
    assert all(re.search(words, one.speed.reason) for one in results(head))


def test_a_plain_arm_that_got_faster_is_said_and_not_red() -> None:
    judgement = judge_against(stretched(BASE, plain=0.8), compared(BASE), GATE)
    assert {one.speed.outcome for one in judgement.results} == {Outcome.PASS}
    assert re.search(r"plain arm 2[45]\.\d% faster", judgement.results[0].speed.reason)


def test_a_gain_is_improved_and_the_margin_is_said() -> None:
    (first, _) = results(stretched(BASE, mtp=0.8))
    assert first.speed.outcome is Outcome.IMPROVED
    assert "a gain of more than 5%: acceptance unchanged; a step costs 20" in first.speed.reason


def test_a_loss_within_the_margin_is_not_red() -> None:
    assert {outcome for outcome, _ in speeds(stretched(BASE, mtp=1.02, sd=0.002))} == {Outcome.PASS}


def test_equivalence_excludes_a_gain_too() -> None:
    rule = Rule(margin=0.05, looks=(3, 5), equivalence=True)
    slightly = stretched(BASE, mtp=0.96, sd=0.002)
    assert {outcome for outcome, _ in speeds(slightly)} == {Outcome.PASS}
    noisy = stretched(BASE, mtp=0.96, sd=0.015, seed=4)
    assert Outcome.INCONCLUSIVE in {outcome for outcome, _ in speeds(noisy, compared(BASE, rule=rule))}
    same = results(stretched(BASE, sd=0.002), compared(BASE, rule=rule))
    assert {one.speed.outcome for one in same} == {Outcome.PASS}
    assert "equivalent within 5%" in same[0].speed.reason


def test_a_session_whose_control_moved_is_void_whatever_the_head_did() -> None:
    void = {(Outcome.INVALID, Cause.ENVIRONMENT)}
    assert speeds(stretched(BASE, mtp=1.3), compared(BASE, control=1.06)) == void
    assert speeds(stretched(BASE), compared(BASE, control=1.06)) == void
    assert speeds(stretched(BASE), compared(BASE, control=1.01)) == {(Outcome.PASS, None)}


def test_a_head_that_does_not_start_is_red_and_a_base_that_does_not_is_no_answer() -> None:
    head = replace(BASE, blocks=(), failures=FAILED)
    assert speeds(head) == {(Outcome.REGRESSION, Cause.START_FAILURE)}
    (first, _) = results(BASE, Compared(base=replace(BASE, blocks=(), failures=FAILED)))
    assert first.speed.outcome is Outcome.ERROR
    assert "nothing to compare with\nbase's mtp arm failed in start: no context" in first.speed.reason


def test_fewer_drafts_alone_are_said_and_not_judged() -> None:
    (first, _) = results(stretched(base(accepted=56)))
    assert first.drafts.outcome is Outcome.PASS
    assert "tokens per step were 3.00 (-20.0%); the speed held" in first.drafts.reason
    (first, _) = results(stretched(base(accepted=56), mtp=1.2))
    assert first.drafts.outcome is Outcome.REGRESSION


@pytest.mark.parametrize(("blocks", "why"), [(3, "measuring ended early"), (6, "a quieter machine decides")])
def test_an_open_class_says_why_it_is_open(blocks: int, why: str) -> None:
    (first, _) = results(stretched(base(blocks), mtp=1.05), compared(base(blocks)))
    assert first.speed.outcome is Outcome.INCONCLUSIVE
    assert why in first.speed.reason


def test_a_head_that_drafts_nothing_is_not_exercised() -> None:
    silent = stretched(base(accepted=0))
    blocks = tuple(
        replace(
            block,
            starts=tuple(
                replace(
                    start,
                    samples=tuple(
                        replace(one, timings=replace(one.timings, draft_n=0, draft_n_accepted=0))
                        for one in start.samples
                    ),
                )
                for start in block.starts
            ),
        )
        for block in silent.blocks
    )
    assert {outcome for outcome, _ in speeds(replace(silent, blocks=blocks))} == {Outcome.NOT_EXERCISED}


@pytest.mark.parametrize(
    ("mtp", "blocks", "done"), [(1.0, 4, True), (1.0, 5, False), (1.3, 3, True), (1.05, 4, False), (1.05, 6, True)]
)
def test_measuring_stops_at_a_look_that_settles_it(mtp: float, blocks: int, *, done: bool) -> None:
    many = base(8)
    to = compared(many)
    cut = replace(to, base=_first(to.base, blocks), control=_first(to.control or many, blocks))
    assert decided(_first(stretched(many, mtp=mtp), blocks), cut, GATE) is done


def _first(one: Campaign, blocks: int) -> Campaign:
    return replace(one, blocks=one.blocks[:blocks])


def test_a_session_whose_control_moved_is_not_ended_early() -> None:
    to = compared(BASE, control=1.06)
    cut = replace(to, base=_first(BASE, 4), control=_first(to.control or BASE, 4))
    assert not decided(_first(stretched(BASE), 4), cut, GATE)


def test_two_sessions_without_pairs_are_compared_by_both_spreads() -> None:
    two = Compared(base=BASE)
    assert speeds(stretched(BASE, mtp=1.3), two) == {(Outcome.REGRESSION, Cause.STEP_COST)}
    # Of what neighbouring requests share nothing falls out: the same head is less sure.
    paired, apart = results(stretched(BASE), compared(BASE))[0], results(stretched(BASE), two)[0]
    assert paired.against is not None
    assert apart.against is not None
    assert apart.against.high - apart.against.low > 1.5 * (paired.against.high - paired.against.low)


def test_full_looks_closer_than_screen() -> None:
    full, screen = Tier.FULL.rule(), Tier.SCREEN.rule()
    assert full.margin < screen.margin
    assert full.looks[0] >= screen.looks[-1]


def test_of_many_unchanged_heads_hardly_one_is_red() -> None:
    """At a block sd of 3 %, over every look of a screen: red is at most one of two hundred."""
    many, coin = base(8), random.Random(7)
    red = 0
    for _ in range(200):
        head = stretched(many, sd=0.02, seed=coin.randrange(10**9))
        control = stretched(many, sd=0.02, seed=coin.randrange(10**9))
        for look in Tier.SCREEN.rule().looks:
            to = Compared(base=_first(many, look), control=_first(control, look))
            if decided(_first(head, look), to, GATE):
                break
        judgement = judge_against(_first(head, look), to, GATE)
        verdicts: list[Verdict] = [one.speed for one in judgement.results] + [one.verdict for one in judgement.rates]
        red += any(one.outcome is Outcome.REGRESSION for one in verdicts)
    assert red <= 1
