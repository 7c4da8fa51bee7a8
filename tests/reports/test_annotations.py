"""What stands above the log of a workflow, read as the runner reads it."""

import re
from dataclasses import replace

import pytest

from pytest_mtp.core.history import Unreadable
from pytest_mtp.core.history_verdict import HistoryVerdict
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.run_report import REPORT_VERSION, Judged, RunReport
from pytest_mtp.core.sample import ArmFailure, Stage
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.verdict import Outcome, Verdict
from pytest_mtp.reports.annotations import MOST, annotations
from tests.campaigns import around, campaign
from tests.hostile import WORDS, hostile_file, hostile_report, hostile_verdict
from tests.studies import latency, report_of

SURE = campaign({"a": around(2.0, 0.01)})
NOISY = campaign({"a": around(2.0, 0.2)})


def report(judged: Judged) -> RunReport:
    return RunReport(
        version=REPORT_VERSION, created_at="now", tool="t", profile="p", machine={"cpu": "c"}, judged=(judged,)
    )


def read(line: str) -> tuple[str, str, str]:
    """The command, title and text of a line, split and unescaped in the runner's order."""
    head, text = re.fullmatch(r"::(.*?)::(.*)", line).groups()  # type: ignore[union-attr]  # a test may fail
    command, _, told = head.partition(" ")
    properties = dict(one.split("=", 1) for one in told.split(","))
    title = properties.pop("title")
    assert not properties
    for code, letter in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        title = title.replace(code, letter)
    for code, letter in (("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(code, letter)
    return command, title, text


def said(judged: Judged, verdict: HistoryVerdict | None = None) -> list[tuple[str, str, str]]:
    return [read(line) for line in annotations(report(judged), verdict).splitlines()]


def gated(measured: object = SURE, **changes: object) -> Judged:
    values: dict[str, object] = {"campaign": measured, "gate": Gate(), "floors": {"a": 1.95}}
    return Judged(**(values | changes)).rejudged()  # type: ignore[arg-type]  # a test may say anything


def test_a_sound_run_and_a_failing_test_say_nothing() -> None:
    assert said(gated()) == said(gated(floors={"a": 2.5})) == []
    failures = tuple(ArmFailure(arm=arm, stage=Stage.START, message="no") for arm in Arm)
    assert said(gated(replace(SURE, failures=failures))) == []


def test_an_open_answer_is_a_warning() -> None:
    [(command, title, text)] = said(gated(NOISY))
    assert (command, title) == ("warning", "MTP: INCONCLUSIVE, n3")
    assert text.startswith("a: speedup 2.00x [")
    assert "96.7% interval" in text


def test_an_invalid_campaign_is_one_warning_for_all_its_classes() -> None:
    empty = replace(campaign({"a": (), "b": ()}), stopped="the card was shared")
    [(command, title, text)] = said(gated(empty))
    assert (command, title) == ("warning", "MTP: INVALID, n3")
    assert text == "a, b: only 0 valid blocks were measured; the card was shared"


def test_a_missing_baseline_is_a_notice_until_it_is_recorded() -> None:
    assert [one[:2] for one in said(gated(floors={}))] == [("notice", "MTP: NO_BASELINE, n3")]
    noted = said(gated(floors={}, notices=("recorded to baselines/p.json",)))
    assert noted == [("notice", "MTP: note, n3", "recorded to baselines/p.json")]


def test_an_improvement_is_a_notice_to_record_it() -> None:
    better = Verdict(outcome=Outcome.IMPROVED, reason="above; record it: --mtp-update-baselines=all")
    judged = gated()
    judged = replace(judged, results=(replace(judged.results[0], speed=better),))
    assert said(judged) == [("notice", "MTP: IMPROVED, n3", "a: above; record it: --mtp-update-baselines=all")]


def test_the_history_says_why_it_is_red_since_no_test_does() -> None:
    verdict = HistoryVerdict(run="r", reasons=("a fell",), notices=("three runs are few",))
    assert said(gated(), verdict) == [
        ("error", "MTP: history", "a fell"),
        ("notice", "MTP: history", "three runs are few"),
    ]


def test_an_unreadable_file_of_the_history_is_a_warning() -> None:
    text = annotations(report(gated()), None, [Unreadable("r1.json", "It is cut off.")])
    assert read(text.rstrip("\n")) == ("warning", "MTP: unreadable history", "r1.json: It is cut off.")


def test_hostile_words_are_one_line_each_and_come_back_as_they_were() -> None:
    text = annotations(hostile_report(), hostile_verdict(), [hostile_file()])
    lines = text.split("\n")[:-1]
    assert len(lines) == len(text.splitlines())
    commands = [read(line) for line in lines]
    assert {command for command, _, _ in commands} == {"error", "warning", "notice"}
    assert all(title.startswith("MTP: ") for _, title, _ in commands)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e\ud800-\udfff]", text)
    reason = next(told for command, _, told in commands if command == "error")
    assert reason.split("\n")[0] == WORDS.split("\n")[0]
    assert "50%25, a:b, c\\udc80" in reason


@pytest.mark.parametrize("count", [MOST, MOST + 1, 300])
def test_no_more_are_written_than_the_runner_shows(count: int) -> None:
    verdict = HistoryVerdict(run="r", reasons=tuple(f"reason {index}" for index in range(count)))
    texts = [text for _, _, text in said(gated(), verdict)]
    assert len(texts) == MOST
    assert (texts[-1] == f"{count - MOST + 1} more of these: see the summary.") == (count > MOST)


def test_a_long_reason_is_cut() -> None:
    [(_, _, text)] = said(gated(), HistoryVerdict(run="r", notices=("%" * 5_000,)))
    assert len(text) == 1_000


def test_an_open_study_is_a_warning_and_what_it_left_out_a_notice() -> None:
    study = latency(around(1.5, 0.2), most=1.5, left_out=("this build has no streams",))
    first, second = (read(line) for line in annotations(report_of(study)).splitlines())
    assert first[:2] == ("warning", "MTP: INCONCLUSIVE, n3")
    assert first[2].startswith("latency: time to first token 10 ms plain")
    assert second == ("notice", "MTP: note, n3", "latency: this build has no streams")


def test_a_study_that_passed_or_failed_its_test_says_nothing() -> None:
    assert annotations(report_of(latency(), latency(most=1.0))) == ""


def test_a_hostile_study_is_one_line_each() -> None:
    study = latency(around(1.5, 0.2), most=1.5, flag_set=WORDS, subject=WORDS, left_out=(WORDS,))
    text = annotations(report_of(study))
    assert [read(line)[0] for line in text.splitlines()] == ["warning", "notice"]
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e\ud800-\udfff]", text)
