import unicodedata
from dataclasses import replace

import pytest

from pytest_mtp.core.profile import Gate, Reference
from pytest_mtp.core.run_report import REPORT_VERSION, Judged, RunReport
from pytest_mtp.core.sample import ArmFailure, Campaign, Stage
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.study import Study, Variant
from pytest_mtp.core.verdict import Outcome, Verdict
from pytest_mtp.reports.line import Line, Tone
from pytest_mtp.reports.terminal import lines, wrapped
from tests.campaigns import around, campaign
from tests.hostile import WORDS
from tests.studies import draft_depth, latency, memory, report_of

MEASURED = campaign({"quick": around(2.0, 0.01), "a_class_with_a_very_long_name": around(0.7, 0.01)})
UNMEASURED = Verdict(outcome=Outcome.INVALID, reason="nothing was measured yet")
REFERENCE = Reference(low=1.67, high=1.72, source="the tutorial")


def report(measured: Campaign, **changes: object) -> RunReport:
    judged = Judged(campaign=measured, gate=Gate(), **changes)  # type: ignore[arg-type]  # a test may say anything
    return RunReport(
        version=REPORT_VERSION,
        created_at="2026-01-01T00:00:00+00:00",
        tool="test",
        profile="p",
        machine={"cpu": "Some CPU", "cores": "2"},
        judged=(judged.rejudged(),),
    )


def table(width: int) -> list[str]:
    floors = {"quick": 1.5, "a_class_with_a_very_long_name": 0.75}
    return [line.text for line in lines(report(MEASURED, floors=floors, references={"quick": REFERENCE}), width)]


def test_two_lines_a_class_fit_into_eighty_columns() -> None:
    text = table(80)
    assert max(len(line) for line in text) <= 80
    quick = next(index for index, line in enumerate(text) if line.startswith("quick"))
    assert text[quick].split() == ["quick", "100.0", "200.0", "2.00x", "[1.96,", "2.04]", "PASS"]
    assert text[quick + 1].split() == ["64%", "3.00", "1.50", "1.50x", "(floor)", "1.67x-1.72x"]


def test_a_wide_terminal_has_one_line_a_class() -> None:
    row = next(line for line in table(140) if line.startswith("quick"))
    assert row.split()[-2:] == ["1.67x-1.72x", "PASS"]
    assert "(floor)" in row


def test_a_long_name_keeps_the_columns() -> None:
    row = next(line for line in table(80) if line.startswith("a_class"))
    assert row.split()[:2] == ["a_class_with_a_ve…", "100.0"]


def test_a_lost_class_is_marked_and_named_below() -> None:
    written = list(lines(report(MEASURED, floors={"quick": 1.5, "a_class_with_a_very_long_name": 0.75}), 80))
    rows = [line.tone for line in written if line.text.endswith(("PASS", "REGRESSION"))]
    assert rows == [Tone.GOOD, Tone.BAD]
    text = " ".join(line.text for line in written)
    assert "a_class_with_a_very_long_name: REGRESSION: speedup 0.70x" in text
    assert "A class lost" in text


@pytest.mark.parametrize(
    ("floors", "said"),
    [({}, "--mtp-update-baselines=new"), ({"quick": 1.99}, "gates.looks"), ({"quick": 1.5}, "two-sided t intervals")],
)
def test_the_last_lines_say_what_to_do(floors: dict[str, float], said: str) -> None:
    assert said in "\n".join(line.text for line in lines(report(MEASURED, floors=floors), 80))


def test_a_campaign_without_a_valid_block_has_a_table_too() -> None:
    empty = replace(campaign({"quick": ()}), stopped="4 blocks were invalid, 3 may be measured again")
    text = [line.text for line in lines(report(empty), 80)]
    assert "note: 4 blocks were invalid, 3 may be measured again" in text
    assert next(line for line in text if line.startswith("quick")).split() == ["quick", "-", "-", "-", "-", "INVALID"]


def test_a_name_of_escape_codes_moves_no_cursor() -> None:
    hostile = "\x1b[2J\r::error::x\n"
    shown = "".join(line.text for line in wrapped([Line(hostile)], 80))
    assert not any(unicodedata.category(letter) == "Cc" for letter in shown)


def shown(*studies: Study, width: int = 80) -> list[str]:
    return [line.text for line in lines(report_of(*studies), width)]


def test_every_ratio_of_a_study_is_a_line_of_eighty_columns_with_its_bound_and_verdict() -> None:
    text = shown(latency(), latency(around(1.5, 0.01), most=1.0), latency(around(1.5, 0.2), most=1.5))
    assert max(map(len, text)) <= 80
    assert text[text.index("further suites") + 2] == "latency, flag set n3: PASS"
    rows = [line.split() for line in text if line.startswith("time per token")]
    told = ["time", "per", "token", "2", "->", "3", "ms", "1.50x"]
    assert [row[:8] for row in rows] == [told] * 3
    assert [row[-3:] for row in rows] == [
        ["<=", "2.00", "PASS"],
        ["<=", "1.00", "REGRESSION"],
        ["<=", "1.50", "INCONCLUSIVE"],
    ]


def test_a_ratio_without_a_bound_has_no_verdict() -> None:
    (row,) = [line.split() for line in shown(latency()) if line.startswith("inter-token p50")]
    assert row[-2:] == ["-", "-"]


def test_the_name_of_a_ratio_is_told_whole_in_a_line_of_its_own_where_it_is_long() -> None:
    study = latency()
    long = replace(study, results=(replace(study.results[0], name="process memory, mtp, first to last"),))
    text = shown(long)
    assert text[text.index("process memory, mtp, first to last") + 1].split()[:3] == ["10", "->", "15"]


def test_ratios_of_other_sides_stand_under_a_head_of_their_own() -> None:
    study = draft_depth({(1, 0.0): around(1.5, 0.01), (2, 0.0): around(1.4, 0.01)})
    text = shown(study)
    heads = [line.split(" ratio ")[0].strip() for line in text if " ratio interval " in line]
    assert heads == ["plain -> mtp", "better neighbour -> itself"]
    first, second = (place for place, line in enumerate(text) if " ratio interval " in line)
    assert [line[:16].strip() for line in text[first + 1 : second]] == ["n-max 1, p-min 0", "n-max 2, p-min 0"]
    assert [line[:16] for line in text[second + 1 : second + 3]] == ["tok/s at n-max 1", "tok/s at n-max 2"]
    assert {line.index(" ratio ") for line in (text[first], text[second])} == {40}
    assert max(map(len, text)) <= 80


def test_large_values_have_no_exponent() -> None:
    study = latency()
    text = shown(replace(study, results=(replace(study.results[0], first=23456.7, second=1234.5),)))
    assert any("23457 -> 1234 ms" in line for line in text)


def test_what_a_study_notes_and_what_it_left_out_are_notes() -> None:
    text = shown(replace(latency(left_out=("this build has no type q",)), notices=("best: n_max 3",)))
    assert {"note: best: n_max 3", "note: this build has no type q"} <= set(text)


def test_a_check_that_does_not_hold_is_its_sentence_in_its_tone() -> None:
    failures = (ArmFailure(arm=Arm.MTP, stage=Stage.START, message="no\nthe last line"),)
    broken = latency(variants=(Variant(name="streamed", campaign=campaign({"a": ()}, failures=failures)),))
    written = list(lines(report_of(broken), 200))
    (said,) = [line for line in written if line.text.startswith("REGRESSION: streamed: the mtp arm")]
    assert said.tone is Tone.BAD
    assert "  the last line" in [line.text for line in written]


def test_a_run_of_suites_alone_says_with_what_it_was_measured_and_asks_for_no_baseline() -> None:
    text = "\n".join(shown(latency()))
    assert text.startswith("profile p, b1, m1\nSome CPU, 2 cores; side-by-side\n")
    assert "nothing was measured" not in text
    assert "baseline" not in text
    assert "two-sided t intervals" in text


def test_an_undecided_suite_says_what_it_needs() -> None:
    assert "suites.looks" in "\n".join(shown(latency(around(1.5, 0.2), most=1.5)))


def test_a_study_without_any_campaign_in_the_report_is_shown_too() -> None:
    text = shown(memory(MEASURED))
    assert text[:2] == ["profile p", "Some CPU, 2 cores"]
    assert "no memory was told of these servers" in text


def test_a_study_that_was_not_measured_says_so() -> None:
    assert "nothing was measured yet" in shown(replace(latency(), results=(), verdict=UNMEASURED))


def test_a_hostile_study_moves_no_cursor() -> None:
    text = shown(replace(latency(flag_set=WORDS, subject=WORDS, left_out=(WORDS,)), notices=(WORDS,)))
    assert not any(unicodedata.category(letter) in {"Cc", "Cs"} for line in text for letter in line)
    assert not [line for line in text if line.startswith(("::", "##["))]


LATE = "the time limit ended it after 2 valid blocks (--mtp-max-time)"


def steps(*studies: Study, late: bool, blocks: int = 2) -> str:
    stopped = LATE if late else None
    undecided = replace(campaign({"quick": around(2.0, 0.2, blocks)}), stopped=stopped)
    told = replace(report(undecided, floors={"quick": 1.99}), studies=studies)
    return " ".join(line.text for line in lines(told, 200))


@pytest.mark.parametrize("blocks", [4, 1], ids=["INCONCLUSIVE", "INVALID"])
def test_classes_that_the_time_limit_ended_are_told_of_time_and_not_of_blocks(blocks: int) -> None:
    said = steps(late=True, blocks=blocks)
    assert "Undecided classes lacked time: give --mtp-max-time more, or go on with --mtp-resume." in said
    assert "gates.looks" not in said


def test_classes_that_had_time_enough_are_told_of_blocks() -> None:
    said = steps(late=False, blocks=4)
    assert "gates.looks=[8, 16, 24]" in said
    assert "lacked time" not in said


def test_suites_that_the_time_limit_ended_are_told_of_time_too() -> None:
    late = replace(campaign({"a": (1.0,)}), stopped=LATE)
    study = latency(variants=(Variant(name="streamed", campaign=late),))
    assert study.verdict.outcome is Outcome.INVALID
    said = steps(study, late=True)
    assert "Undecided classes and suites lacked time" in said
    assert "suites.looks" not in said
    assert "Undecided suites lacked time" in " ".join(shown(study, width=200))


def test_a_time_limit_that_cost_no_answer_is_no_advice() -> None:
    late = replace(campaign({"quick": around(2.0, 0.01)}), stopped=LATE)
    assert "lacked time" not in " ".join(line.text for line in lines(report(late, floors={"quick": 1.5}), 200))


def test_a_missing_baseline_is_not_blamed_on_the_time_limit() -> None:
    late = replace(campaign({"quick": around(2.0, 0.01)}), stopped=LATE)
    assert "lacked time" not in " ".join(line.text for line in lines(report(late), 200))
