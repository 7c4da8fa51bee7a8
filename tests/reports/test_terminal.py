import unicodedata
from dataclasses import replace

import pytest

from pytest_mtp.core.profile import Gate, Reference
from pytest_mtp.core.run_report import REPORT_VERSION, Judged, RunReport
from pytest_mtp.core.sample import Campaign
from pytest_mtp.reports.line import Line, Tone
from pytest_mtp.reports.terminal import lines, wrapped
from tests.campaigns import around, campaign

MEASURED = campaign({"quick": around(2.0, 0.01), "a_class_with_a_very_long_name": around(0.7, 0.01)})
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
