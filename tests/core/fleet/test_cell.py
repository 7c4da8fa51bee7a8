"""A cell is what its id says, and asks for nothing that is not a cell's to ask."""

from dataclasses import replace

import pytest

from pytest_mtp.core.fleet.cell import Cell, CellResult, State, lost
from pytest_mtp.errors import InputError
from tests.reports_of_runs import run_report

CELL = Cell(machine="desk", kind="RTX 3090", profile="phantom", options=("test_speedup.py", "--mtp-tier=full"))


def test_the_same_cell_has_the_same_id_everywhere_and_another_has_another() -> None:
    assert Cell(machine="desk", kind="cpu", profile="phantom").id == "ed9689296d80"
    assert Cell(machine="desk", kind="cpu", profile="phantom", minutes=60).id == Cell(
        machine="desk", kind="cpu", profile="phantom", minutes=60.0
    ).id  # fmt: skip
    others = [replace(CELL, id="", **{name: "x"}) for name in ("machine", "kind", "profile", "source", "flag_set")]  # type: ignore[arg-type]
    assert len({CELL.id, *(one.id for one in others)}) == 6


def test_suites_are_told_from_options() -> None:
    assert (CELL.suites, CELL.switches) == (("test_speedup.py",), ("--mtp-tier=full",))


def test_a_cell_is_named_by_the_ends_of_its_paths() -> None:
    cell = Cell(
        machine="m", kind="cpu", profile="a/b/mine.toml", flag_set="n3", source="git:https://x.example/llama@master"
    )
    assert cell.name == "mine n3 git:…/llama@master"


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"machine": ""}, "needs a machine"),
        ({"kind": ""}, "needs a kind"),
        ({"machine": "a\x1b[2J"}, "is no name"),
        ({"source": "x" * 501}, "is no name"),
        ({"minutes": 0}, "cannot take 0 minutes"),
        ({"minutes": float("nan")}, "cannot take nan minutes"),
        ({"minutes": 1e9}, "cannot take 1e[+]09 minutes"),
        ({"options": ("-p", "evil")}, "'-p' is no option of a cell"),
        ({"options": ("../evil.py",)}, "is no option of a cell"),
        ({"options": ("--rootdir=/",)}, "is no option of a cell"),
        ({"options": ("--mtp-json=/etc/passwd",)}, "--mtp-json is what a cell says itself"),
        ({"options": ("--mtp-bisect",)}, "changes what the exit status means"),
        ({"id": "0123456789ab"}, "Cell 0123456789ab is not what its id says"),
    ],
)
def test_what_no_cell_can_be_is_refused(told: dict[str, object], why: str) -> None:
    with pytest.raises(InputError, match=why):
        replace(CELL, **({"id": ""} | told))  # type: ignore[arg-type]


def test_a_lost_cell_has_no_answer_and_one_with_a_report_is_done() -> None:
    result = lost(CELL, "box-a went away", worker="box-a", started_at="", ended_at="")
    assert (result.state, result.status, result.said) == (State.LOST, 17, "box-a went away")
    assert replace(result, report=run_report({"code": (1.5, 1.5, 1.5)})).state is State.DONE
    assert replace(result, status=1).state is State.DONE
    assert isinstance(result, CellResult)
