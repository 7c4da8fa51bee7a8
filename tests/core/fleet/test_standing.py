"""What a fleet ends with: a loss is 1, no answer is 17, and a node that went away is never a loss."""

from dataclasses import replace

import pytest

from pytest_mtp.core.fleet.cell import Cell, CellResult, State
from pytest_mtp.core.fleet.standing import Standing, conclusion, exit_status
from pytest_mtp.core.run_report import RunReport
from tests.reports_of_runs import run_report

CELL = Cell(machine="desk", kind="cpu", profile="phantom")
GOOD = (1.50, 1.51, 1.49, 1.50)
BAD = (0.50, 0.51, 0.49, 0.50)


def floored(speedups: tuple[float, ...], floor: float = 1.0) -> RunReport:
    report = run_report({"code": speedups})
    return replace(report, judged=tuple(replace(one, floors={"code": floor}) for one in report.judged))


def result(status: int, report: RunReport | None) -> CellResult:
    return CellResult(
        cell=CELL.id, status=status, report=report, started_at="2026-12-03T03:00:00.000000+00:00",
        ended_at="2026-12-03T03:30:00.000000+00:00", worker="box", said="",
    )  # fmt: skip


def ended(one: CellResult) -> Standing:
    return Standing(cell=CELL).over(one, conclusion(one))


@pytest.mark.parametrize(
    ("status", "report", "expected"),
    [
        (0, floored(GOOD), 0),
        (0, run_report({"code": GOOD}), 0),  # no baseline, and it has just recorded one
        (17, run_report({"code": GOOD}), 17),
        (0, floored((1.2, 0.9, 1.1)), 17),  # its status says more than its samples
        (0, floored(BAD), 1),
        (17, floored(BAD), 1),
        (1, floored(GOOD), 1),
        (0, None, 17),
        (17, None, 17),  # lost with its node
        (1, None, 1),
        (4, None, 1),
        (18, floored(GOOD), 1),
        (-9, None, 17),
        (-15, floored(GOOD), 17),
        (-15, floored(BAD), 1),
    ],
)
def test_the_exit_status_is_that_of_a_run(status: int, report: RunReport | None, expected: int) -> None:
    assert exit_status([ended(result(status, report))]) == expected
    assert exit_status([ended(result(0, floored(GOOD))), ended(result(status, report))]) == expected


def test_a_loss_goes_before_no_answer_and_a_cell_without_a_result_has_none() -> None:
    waiting = Standing(cell=CELL)
    assert exit_status([waiting]) == 17
    assert exit_status([waiting, ended(result(1, None))]) == 1


def test_what_is_done_stays_done() -> None:
    done = ended(result(0, floored(GOOD)))
    assert done.heard(State.RUNNING, "another") == done
    assert Standing(cell=CELL).heard(State.RUNNING, "box").heard(State.LOST, "").worker == "box"


def test_minutes_are_those_between_its_times_and_none_where_they_are_no_times() -> None:
    whole = conclusion(result(0, None))
    assert whole.minutes == 30
    assert replace(whole, started_at="x").minutes is None
    assert replace(whole, started_at="2026-12-03T03:00:00").minutes is None
    assert replace(whole, started_at="2026-12-03T03:30:00.000001+00:00").minutes is None  # the clock was set back
