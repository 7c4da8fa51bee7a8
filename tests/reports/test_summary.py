"""The summary page of a workflow."""

from dataclasses import replace

import pytest

from pytest_mtp.core.history import Key, Metric
from pytest_mtp.core.history_verdict import HistoryVerdict, LevelChange
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.run_report import REPORT_VERSION, Judged, RunReport
from pytest_mtp.core.sample import Campaign
from pytest_mtp.reports.summary import summary
from tests.campaigns import around, campaign
from tests.comparisons import base, compared, stretched
from tests.hostile import STARTS, WORDS, hostile_report, hostile_verdict
from tests.studies import draft_depth, latency, memory, report_of

MEASURED = campaign({"quick": around(2.0, 0.01), "slow": around(0.7, 0.01)})
MIB = 2**20


def report(*judged: Judged) -> RunReport:
    return RunReport(
        version=REPORT_VERSION,
        created_at="2026-01-01T00:00:00+00:00",
        tool="t",
        profile="p",
        machine={"cpu": "Some CPU", "cores": "2"},
        judged=tuple(one.rejudged() for one in judged),
    )


def gated(measured: Campaign = MEASURED, **floors: float) -> Judged:
    return Judged(campaign=measured, gate=Gate(), floors=floors)


def loss(**changes: object) -> LevelChange:
    values: dict[str, object] = {
        "key": Key("p", "n3", "quick", Metric.SPEEDUP.value),
        "run": "r7",
        "at": "2026-01-07",
        "build": "b7",
        "last_run": "r6",
        "last_build": "b6",
        "before": 2.0,
        "after": 1.8,
        "p": 0.001,
        "runs_after": 3,
        "loss": True,
    }
    return LevelChange(**(values | changes))  # type: ignore[arg-type]  # a test may say anything


def test_the_first_line_is_the_verdict_of_all_and_the_next_are_those_of_each() -> None:
    other = replace(MEASURED, flag_set="n2")
    lines = summary(report(gated(quick=1.5, slow=0.6), gated(other, quick=2.5, slow=0.6))).splitlines()
    assert lines[0] == "## MTP: FAIL"
    assert lines[2] == "- flag set n3: PASS, no class lost, 4 blocks"
    assert lines[3] == "- flag set n2: FAIL, 1 of 2 classes lost (step cost), 4 blocks"


def test_only_changed_classes_are_in_the_open_table() -> None:
    text = summary(report(gated(quick=2.5, slow=0.6))).split("<details>")[0]
    assert "| quick | 100.0 | 200.0 | 2.00x \\[1.94, 2.06\\] | 2.50x (floor) |" in text
    assert "- quick: REGRESSION: speedup 2.00x" in text
    assert "slow" not in text


def test_a_sound_run_is_short_and_folds_its_table() -> None:
    text = summary(report(gated(quick=1.5, slow=0.6)))
    assert "|" not in text.split("<details>")[0]
    assert text.count("<details>") == text.count("</details>") == 1
    assert "quick                100.0" in text


def test_a_comparison_has_the_table_of_its_comment() -> None:
    one = base()
    head = stretched(one, mtp=1.15, build="b2", build_label="pull/1/head")
    text = summary(report(Judged(campaign=head, gate=Gate(), compared=compared(one))))
    assert text.startswith("## MTP: FAIL\n\n- flag set n3: FAIL, 2 of 2 classes lost (step cost), 5 blocks\n")
    assert "| a | 200.4 → 174.4 | -13.0% |" in text


def test_a_red_history_fails_a_run_whose_gate_passed() -> None:
    verdict = HistoryVerdict(run="r9", changes=(loss(),), reasons=("quick fell to 1.80 with b7",))
    text = summary(report(gated(quick=1.5, slow=0.6)), verdict)
    assert text.startswith("## MTP: FAIL\n\n- flag set n3: PASS")
    assert "- history: FAIL, 1 loss, 1 change of level in all" in text
    assert "- quick fell to 1.80 with b7" in text
    assert "| p/n3/quick/speedup | 2x | 1.8x | -10.0% (loss) | r7 | b7 |  |" in text.split("<details>")[0]


def test_a_quiet_history_is_one_line_and_its_gains_are_folded() -> None:
    gain = loss(after=2.2, loss=False)
    text = summary(report(gated(quick=1.5, slow=0.6)), HistoryVerdict(run="r9", changes=(gain,)))
    assert text.startswith("## MTP: PASS")
    open_part, _, folded_part = text.partition("<details>")
    assert "### History" not in open_part
    assert "+10.0%" in folded_part


def test_memory_is_told_in_units_of_memory() -> None:
    grown = loss(key=Key("p", "n3", "", Metric.MEMORY.value), before=20 * 2.0**30, after=22 * 2.0**30)
    text = summary(report(gated(quick=1.5, slow=0.6)), HistoryVerdict(run="r9", changes=(grown,)))
    assert "| p/n3/device memory | 20.0 GiB | 22.0 GiB | +10.0% (loss) |" in text


def test_hostile_words_are_words() -> None:
    text = summary(hostile_report(), hostile_verdict())
    open_part, _, folded_part = text.partition("<details><summary>Everything that was measured")
    for trick in ("<script", "<img", "</details>", "@everyone", "https://evil", "www.evil", "#12 ", "\x1b", "\u202e"):
        assert trick not in open_part
    assert text.count("<details>") == 2
    fenced = folded_part.partition("<details>")[0]
    assert fenced.count("```") == 2
    assert "\x1b" not in fenced
    assert not [line for line in text.splitlines() if line.startswith(("::", "##["))]


def test_every_line_of_a_hostile_table_has_its_cells() -> None:
    rows = [line for line in summary(hostile_report(), hostile_verdict()).splitlines() if line.startswith("|")]
    widths = {line.replace("\\|", "").count("|") for line in rows}
    assert widths == {8, 9}


@pytest.mark.parametrize("words", STARTS)
def test_no_reason_starts_a_block(words: str) -> None:
    verdict = hostile_verdict(words)
    lines = summary(hostile_report(words), verdict).partition("<details>")[0].splitlines()
    assert not [line for line in lines if line.startswith(f"- {words}")]


@pytest.mark.parametrize("count", [1_000, 4_000])
def test_it_is_less_than_a_mebibyte_whatever_was_measured(count: int) -> None:
    measured = campaign({"a": around(2.0, 0.2)})
    [one] = gated(measured, a=1.95).rejudged().results
    results = tuple(replace(one, prompt_class=f"class-{index:04}-" + "ä" * 380) for index in range(count))
    wide = replace(report(), judged=(Judged(campaign=measured, gate=Gate(), results=results),))
    text = summary(wide)
    assert len(text.encode()) < MIB
    assert text.startswith(f"## MTP: UNDECIDED\n\n- flag set n3: UNDECIDED, {count} of {count} classes")
    assert text.endswith("The rest is too long for this page: see report.json, or report.html.\n")
    assert text.count("<details>") == text.count("</details>")


def test_a_long_history_is_cut_as_well() -> None:
    reasons = tuple(f"loss {index} " + "x" * 500 for index in range(5_000))
    text = summary(report(gated(quick=1.5, slow=0.6)), HistoryVerdict(run="r", reasons=reasons))
    assert len(text.encode()) < MIB
    assert "too long for this page" in text


def test_every_bounded_ratio_of_a_study_is_a_row() -> None:
    text = summary(report_of(latency())).split("<details>")[0]
    assert text.startswith("## MTP: PASS\n\n- further suites: PASS, 1 of 1 passed\n\np, b1, m1, Some CPU, ")
    rows = [line for line in text.splitlines() if line.startswith("| latency")]
    assert len(rows) == 3
    assert rows[1].startswith("| latency | n3 | time per token 2 → 3 ms | plain → mtp | 1.50x \\[")
    assert rows[1].endswith("| &lt;= 2.00 | PASS |")


def test_a_ratio_of_other_sides_says_which() -> None:
    study = draft_depth({(1, 0.0): around(1.5, 0.01), (2, 0.0): around(1.4, 0.01)})
    text = summary(report_of(study)).split("<details>")[0]
    assert "| tok/s at n-max 2 150 → 140 tok/s | better neighbour → itself | 0.93x" in text


def test_a_study_that_lost_makes_the_run_red_and_says_why() -> None:
    lost = replace(report(gated(quick=1.5, slow=0.6)), studies=(latency(most=1.0), latency()))
    text = summary(lost)
    assert text.startswith("## MTP: FAIL\n\n- flag set n3: PASS")
    assert "- further suites: FAIL, 1 of 2 lost: latency" in text
    assert "- REGRESSION: latency: time to first token 10 ms plain, 15 mtp" in text


def test_a_study_without_a_ratio_is_a_row_with_its_verdict_and_its_notes() -> None:
    text = summary(replace(report(gated(quick=1.5, slow=0.6)), studies=(memory(MEASURED),)))
    assert "| memory | n3 | - | - | - | - | NOT_TOLD |" in text
    assert "- NOT_TOLD: memory: no memory was told of these servers" in text
    assert "further suites: PASS, 0 of 1 passed, 1 not told" in text


def test_hostile_words_of_a_study_are_words() -> None:
    study = latency(flag_set=WORDS, subject=WORDS, left_out=(WORDS,))
    results = (replace(one, name=WORDS, unit=WORDS, sides=(WORDS, WORDS)) for one in study.results)
    named = replace(study, results=tuple(results))
    text = summary(report_of(named)).split("<details><summary>Everything")[0]
    for trick in ("<script", "<img", "</details>", "@everyone", "https://evil", "www.evil", "#12 ", "\x1b", "\u202e"):
        assert trick not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {8}
