"""The history on a terminal, and its values for other programs; no text of it is more than words there."""

import csv
import io
import json
from dataclasses import replace
from typing import Any

import pytest

from pytest_mtp.core.history import ClassEntry, Entry, Metric, Unreadable, Value, entries_of, series_of
from pytest_mtp.core.verdict import Outcome
from pytest_mtp.reports.history_table import csv_of, details, json_of, table
from tests.hostile import WORDS, hostile_file, hostile_report


def values(speedup: float) -> dict[Metric, Value]:
    return {
        Metric.SPEEDUP: Value(speedup, speedup - 0.1, speedup + 0.1),
        Metric.TAU: Value(3.0),
        Metric.STEP_COST: Value(3.0 / speedup),
        Metric.PLAIN_TPS: Value(42.4),
        Metric.MTP_TPS: Value(42.4 * speedup),
    }


def entry(run: str = "20261202T031500-phantom-1a2b3c4d", **changes: Any) -> Entry:
    told = {
        "run": run,
        "at": "2026-12-02T03:15:00+00:00",
        "profile": "phantom",
        "flag_set": "n3",
        "build": "b11434",
        "facts": {"cpu": "a processor"},
        "classes": {
            "code": ClassEntry(outcome=Outcome.PASS, values=values(2.0)),
            "chat": ClassEntry(outcome=Outcome.INCONCLUSIVE, values=values(1.125)),
        },
    }
    return Entry(**(told | changes))


HOSTILE = entries_of(WORDS, hostile_report())


def test_a_run_is_one_line() -> None:
    assert [*table([entry()], [], 100)] == [
        "profile phantom",
        "run                              date       build  flag set worst         speedup classes",
        "20261202T031500-phantom-1a2b3c4d 2026-12-02 b11434 n3       INCONCLUSIVE    1.50x       2",
    ]


def test_eighty_columns_hold_every_line_and_what_is_left_of_a_name_can_be_typed() -> None:
    one = entry(build="b9030-267f8afe8-dirty", flag_set="n3-q8kv-turboquant")
    lines = [*table([one, replace(one, profile="other")], [Unreadable("x.json", "It is no run. " * 9)], 80)]
    assert max(map(len, lines)) <= 80
    assert one.run.startswith(lines[2].split()[0])
    assert len(lines[2].split()[0]) >= len("20261202T031500")


def test_runs_are_grouped_by_profile_and_oldest_first() -> None:
    later = replace(entry("b"), at="2026-12-03T03:15:00+00:00")
    lines = [*table([later, entry("c", profile="gpu"), entry("a")], [], 80)]
    assert [line.split()[0] for line in lines] == ["profile", "run", "c", "profile", "run", "a", "b"]


@pytest.mark.parametrize(
    ("outcomes", "shown"),
    [
        ((Outcome.PASS, Outcome.IMPROVED), "PASS"),
        ((Outcome.IMPROVED,), "IMPROVED"),
        ((Outcome.INVALID, Outcome.REGRESSION, Outcome.PASS), "REGRESSION"),
        ((Outcome.NO_BASELINE, Outcome.INCONCLUSIVE), "INCONCLUSIVE"),
        ((Outcome.ERROR, Outcome.REGRESSION), "ERROR"),
        ((), "-"),
    ],
)
def test_the_worst_outcome_stands_for_a_run(outcomes: tuple[Outcome, ...], shown: str) -> None:
    classes = {str(index): ClassEntry(outcome=one, values=values(1.0)) for index, one in enumerate(outcomes)}
    assert [*table([entry("a", classes=classes)], [], 80)][2].split()[4] == shown


def test_what_others_measured_has_no_verdict_unless_it_failed() -> None:
    open_one = {"code": ClassEntry(outcome=Outcome.NO_BASELINE, values={Metric.MTP_TPS: Value(80.0)})}
    lines = [*table([entry("a", classes=open_one, imported_from="mtp-bench")], [], 80)]
    assert lines[2].split()[4:] == ["imported", "-", "0/1"]
    failed = {"code": ClassEntry(outcome=Outcome.ERROR)}
    assert "ERROR" in [*table([entry("a", classes=failed, imported_from="mtp-bench")], [], 80)][2]
    shown = [*details([entry(classes=open_one, imported_from="mtp-bench")])]
    assert "imported: mtp-bench measured it" in shown
    assert shown[-1].endswith("not judged")


def test_files_that_are_no_runs_are_named() -> None:
    assert [*table([], [Unreadable("x.json", "It is no run.")], 80)] == ["No runs yet.", "x.json: It is no run."]


def test_details_give_every_value_and_circumstance_in_eighty_columns() -> None:
    told = [*details([entry(memory=Value(3.0 * 2**20), facts={"cpu": "a processor", "sets": "avx " * 40})])]
    assert "  cpu: a processor" in told
    assert "code              42.4   84.8   2.00x [1.90, 2.10] 3.00 1.50      - PASS" in told
    assert told[-1] == "The mtp arm took 3 MiB on the cards."
    assert max(map(len, told)) <= 80


def test_a_class_without_a_measurement_keeps_its_line() -> None:
    told = [*details([entry(classes={"code": ClassEntry(outcome=Outcome.INVALID)})])]
    assert told[-1].split() == ["code", *["-"] * 7, "INVALID"]


@pytest.mark.parametrize("width", [80, 200])
def test_nobodys_words_move_the_cursor(width: int) -> None:
    lines = [*table(HOSTILE, [hostile_file()], width), *details(HOSTILE)]
    assert lines
    assert all("\x1b" not in line and len(line.splitlines()) <= 1 and line.encode() for line in lines)


def test_every_value_is_a_row_with_its_circumstances() -> None:
    rows = [*csv.DictReader(io.StringIO(csv_of(series_of([entry("a"), entry("b", memory=Value(7.0))]))))]
    assert len(rows) == 2 * 2 * 5 + 1
    found = next(row for row in rows if (row["run"], row["prompt_class"], row["metric"]) == ("a", "code", "speedup"))
    assert found == {
        "profile": "phantom",
        "flag_set": "n3",
        "prompt_class": "code",
        "metric": "speedup",
        "run": "a",
        "at": "2026-12-02T03:15:00+00:00",
        "build": "b11434",
        "value": "2.0",
        "low": "1.9",
        "high": "2.1",
        "segment": entry().segment("code"),
        "imported_from": "",
    }
    assert [(row["value"], row["low"]) for row in rows if row["metric"] == "device memory"] == [("7.0", "")]


def test_json_has_the_same_rows_with_numbers_as_numbers() -> None:
    series = series_of([entry("a", imported_from="mtp-bench")])
    told = json.loads(json_of(series))
    rows = csv.DictReader(io.StringIO(csv_of(series)))
    assert [{key: "" if value is None else str(value) for key, value in row.items()} for row in told] == [*rows]
    assert told[0]["value"] == pytest.approx(42.4 * 1.125)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", " =", "\t=", "\r="])
def test_no_text_is_a_formula_of_a_spreadsheet(start: str) -> None:
    formula = f"{start}HYPERLINK(A1)"
    (row, *_) = csv.DictReader(io.StringIO(csv_of(series_of([entry(formula, build=formula, flag_set=formula)]))))
    assert {row[name][0] for name in ("run", "build", "flag_set")} == {"'"}


def test_exported_words_are_only_words_for_a_terminal() -> None:
    for text in (csv_of(series_of(HOSTILE)), json_of(series_of(HOSTILE))):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert text.encode()
    assert {row["run"] for row in json.loads(json_of(series_of(HOSTILE)))} == {WORDS}


def test_no_series_is_a_table_without_rows() -> None:
    assert csv_of(()).count("\n") == 1
    assert json_of(()) == "[]\n"
