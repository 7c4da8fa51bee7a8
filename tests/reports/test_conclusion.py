"""The phrase about one flag set."""

from dataclasses import replace

from pytest_mtp.core.history_verdict import HistoryVerdict
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.run_report import Judged
from pytest_mtp.core.sample import ArmFailure, Stage
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.verdict import Outcome, Verdict
from pytest_mtp.reports.conclusion import Word, conclusion, word_of
from pytest_mtp.reports.reasons import reasons
from tests.campaigns import around, campaign
from tests.reports.test_html import of

MEASURED = campaign({"a": around(2.0, 0.01), "b": around(1.2, 0.01)})


def judged(**changes: object) -> Judged:
    values: dict[str, object] = {"campaign": MEASURED, "gate": Gate(), "floors": {"a": 1.5, "b": 1.0}}
    return Judged(**(values | changes)).rejudged()  # type: ignore[arg-type]  # a test may say anything


def test_a_sound_run_passes() -> None:
    assert conclusion(judged()) == (Word.PASS, "no class lost")


def test_a_lost_class_fails_it() -> None:
    assert conclusion(judged(floors={"a": 2.5, "b": 1.0})) == (Word.FAIL, "1 of 2 classes lost (step cost)")


def test_lost_drafts_fail_it_though_the_speed_held() -> None:
    said = conclusion(judged(expected_tau={"a": 3.5}))
    assert said == (Word.FAIL, "1 of 2 classes lost (draft quality)")


def test_a_missing_baseline_leaves_it_undecided_until_it_was_recorded() -> None:
    none = judged(floors={})
    assert conclusion(none) == (Word.UNDECIDED, "2 of 2 classes without an answer")
    just_recorded = replace(none, notices=("recorded to baselines/here/p.json",))
    assert conclusion(just_recorded) == (Word.PASS, "2 of 2 classes recorded as the baseline")


def test_recording_excuses_no_other_open_answer() -> None:
    none = judged(floors={}, notices=("recorded to baselines/here/p.json",))
    noisy = replace(none.results[0], speed=Verdict(outcome=Outcome.INCONCLUSIVE, reason="noisy"))
    assert conclusion(replace(none, results=(noisy, none.results[1])))[0] is Word.UNDECIDED


def test_arms_that_both_fail_are_an_error() -> None:
    failures = tuple(ArmFailure(arm=arm, stage=Stage.START, message="no") for arm in Arm)
    broken = judged(campaign=replace(MEASURED, failures=failures))
    assert conclusion(broken) == (Word.ERROR, "2 of 2 classes without a measurement")


def test_nothing_measured_is_no_pass() -> None:
    assert conclusion(judged(campaign=campaign({}))) == (Word.UNDECIDED, "nothing was measured")


def test_a_run_has_the_word_of_its_worst_part() -> None:
    assert word_of(of(judged())) is Word.PASS
    assert word_of(of(judged()), HistoryVerdict(run="r", reasons=("a fell",))) is Word.FAIL
    assert word_of(of(judged(floors={})), HistoryVerdict(run="r")) is Word.UNDECIDED


def test_a_missing_baseline_that_was_just_recorded_is_no_reason() -> None:
    assert [*reasons(judged(floors={})).values()] == [("a",), ("b",)]
    assert not reasons(judged(floors={}, notices=("recorded to baselines/here/p.json",)))
