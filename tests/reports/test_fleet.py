"""A fleet as text and as a page: what a person waits for first, nothing that moves a cursor, nothing that runs."""

from dataclasses import replace

import pytest

from pytest_mtp.core.fleet.cell import Cell, CellResult, State, lost
from pytest_mtp.core.fleet.standing import Standing, conclusion
from pytest_mtp.core.run_report import RunReport
from pytest_mtp.reports.fleet import change_line, counts, live_lines, plan_lines, reason, sentence, table
from pytest_mtp.reports.html.fleet import fleet_page
from tests.hostile import WORDS, hostile_report
from tests.reports_of_runs import run_report

AT = "2026-12-03T03:00:00.000000+00:00"
GOOD, BAD = (1.50, 1.51, 1.49, 1.50), (0.50, 0.51, 0.49, 0.50)


def cell(machine: str, **told: str) -> Cell:
    return Cell(**({"machine": machine, "kind": "RTX 3090", "profile": "phantom", "flag_set": "n3"} | told))  # type: ignore[arg-type]


def floored(speedups: tuple[float, ...]) -> RunReport:
    report = run_report({"code": speedups, "prose": GOOD})
    return replace(report, judged=tuple(replace(one, floors={"code": 1.0, "prose": 1.0}) for one in report.judged))


def ended(machine: str, status: int, report: RunReport | None, said: str = "", worker: str = "box") -> Standing:
    one = CellResult(
        cell=cell(machine).id, status=status, report=report, started_at=AT,
        ended_at="2026-12-03T03:12:00.000000+00:00", worker=worker, said=said,
    )  # fmt: skip
    return Standing(cell=cell(machine)).over(one, conclusion(one))


def gone(machine: str) -> Standing:
    one = lost(cell(machine), "box-a went away", worker="box-a", started_at=AT, ended_at=AT)
    return Standing(cell=cell(machine)).over(one, conclusion(one))


FLEET = (
    ended("desk", 0, floored(GOOD)),
    ended("tower", 1, floored(BAD)),
    ended("mac", 17, run_report({"code": GOOD, "prose": GOOD})),
    ended("halo", 4, None, "ERROR: usage\nERROR suites/x.py - Failed: no such flag\nIt wrote no report."),
    gone("rented"),
    Standing(cell=cell("attic"), state=State.RUNNING, worker="box-b"),
    Standing(cell=cell("cellar")),
)


def test_the_table_of_80_columns_has_every_cell_class_and_reason() -> None:
    lines = list(table(FLEET, 80))
    assert max(map(len, lines)) <= 80
    words = {line.split()[1]: line.split()[2:4] for line in lines[1:8]}
    assert words == {
        "desk": ["done", "PASS"], "tower": ["done", "FAIL"], "mac": ["done", "UNDECIDED"], "halo": ["done", "ERROR"],
        "rented": ["lost", "-"], "attic": ["running", "-"], "cellar": ["waiting", "-"],
    }  # fmt: skip
    text = "\n".join(lines)
    assert "7 cells: 1 waiting, 1 running, 4 done (1 ERROR, 1 FAIL, 1 PASS, 1 UNDECIDED), 1 lost" in " ".join(
        text.split()
    )
    assert "code          desk" in text
    assert "prose         mac" in text
    assert "halo: ERROR: usage; Failed: no such flag" in text
    assert "rented: box-a went away" in text
    (rented,) = (line.split() for line in lines if line.split()[1:3] == ["rented", "lost"])
    assert rented[4:6] == ["-", "-"]  # neither speed nor minutes


def test_what_was_ended_says_so_and_not_what_failed_before() -> None:
    said = "ERROR suites/x.py - Failed: no such flag\nIt wrote no report.\nIt was not over within 9 minutes."
    assert reason(ended("desk", -15, None, said)) == "It was not over within 9 minutes."
    assert reason(ended("desk", 1, None, said)) == "Failed: no such flag"


def test_a_live_table_shows_what_runs_and_counts_what_does_not_fit() -> None:
    lines = live_lines(FLEET, 80, 4)
    assert len(lines) == 4
    assert lines[0].startswith("cell ")
    assert "attic" in lines[1]
    assert "rented" in lines[2]
    assert lines[3].startswith("7 cells: ")
    assert all(len(line) <= 30 for line in live_lines(FLEET, 30, 20))


def test_a_change_is_a_line() -> None:
    assert change_line(FLEET[5]).endswith(" attic running on box-b")
    assert change_line(FLEET[1]).endswith(" tower done on box: FAIL")
    assert change_line(FLEET[4]).endswith(" rented lost on box-a")
    assert change_line(FLEET[5].heard(State.WAITING, "")).endswith(" attic waiting")


@pytest.mark.parametrize(
    ("fleet", "said"),
    [
        (FLEET, "1 of 7 cells could not be measured: halo."),
        (FLEET[:2], "1 of 2 cells lost: tower."),
        (FLEET[:1], "Nothing was lost: 1 of 1 cell passed."),
        ((FLEET[0], FLEET[4]), "No loss is proven, but 1 of 2 cells has no answer."),
        (tuple(ended(f"m{n}", 1, floored(BAD)) for n in range(6)), "6 of 6 cells lost: m0, m1, m2, m3, 2 more."),
    ],
)
def test_the_verdict_over_all_machines_is_a_sentence(fleet: tuple[Standing, ...], said: str) -> None:
    assert sentence(fleet) == said


def test_a_plan_sums_the_minutes_of_each_kind() -> None:
    cells = [cell("desk"), cell("tower"), cell("mac", kind="M3 Max")]
    lines = list(plan_lines(cells, 80))
    assert lines[-1] == "3 cells, at most 180 minutes: M3 Max 60, RTX 3090 120."
    assert lines[1].split() == [cells[0].id, "desk", "RTX", "3090", "60", "phantom", "n3"]


def test_the_page_has_every_machine_and_runs_nothing() -> None:
    page = fleet_page(FLEET, AT, "pytest-mtp 0.1.0")
    for name in ("desk", "tower", "mac", "halo", "rented", "attic", "cellar", "code", "prose"):
        assert name in page
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert "1 of 7 cells could not be measured: halo." in page


def test_words_of_a_stranger_are_words_on_every_surface() -> None:
    fleet = (ended("desk", 0, hostile_report(), WORDS, WORDS), ended("tower", 1, None, WORDS, WORDS))
    text = "\n".join([*table(fleet, 80), *live_lines(fleet, 80, 20), *map(change_line, fleet), counts(fleet)])
    assert "\x1b" not in text
    assert "\u202e" not in text
    page = fleet_page(fleet, WORDS, WORDS)
    assert "<script" not in page
    assert "<img" not in page
    assert "\x1b" not in page
