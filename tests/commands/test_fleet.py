"""``pytest-mtp fleet`` from the command line: planned, run, taken up again, merged and shown."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from pytest_mtp.cli import main
from pytest_mtp.commands.fleet_run import Controller, run_cells
from pytest_mtp.core.fleet.cell import Cell, CellResult, State, lost
from pytest_mtp.core.status import UNDECIDED
from pytest_mtp.errors import InputError
from pytest_mtp.runtime.fleet.ledger import Ledger
from pytest_mtp.runtime.fleet.protocol import Heard
from pytest_mtp.runtime.fleet.stored import load_manifest
from pytest_mtp.runtime.screen import Screen
from pytest_mtp.runtime.store import write_json
from tests.damaged import one_armed
from tests.hostile import WORDS, hostile_report
from tests.reports_of_runs import run_report
from tests.runtime.fleet.cells import KILLED, cell_of, hangs, manifest_of, server_that
from tests.runtime.fleet.test_cell_run import appeared, gone

AT = "2026-12-03T03:00:00.000000+00:00"


def written(path: Path, *cells: Cell) -> str:
    write_json(path, manifest_of(*cells))
    return str(path)


def result_of(cell: Cell, **told: object) -> CellResult:
    report = run_report({"code": (1.5, 1.4, 1.6)})
    whole = {"status": 0, "report": report, "started_at": AT, "ended_at": AT, "worker": "box", "said": ""} | told
    return CellResult(cell=cell.id, **whole)  # type: ignore[arg-type]


def stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """Each file with its inode and time: who writes one anew changes both."""
    return {one.name: (one.stat().st_ino, one.stat().st_mtime_ns) for one in folder.glob("*.json")}


def test_a_plan_is_shown_with_kinds_minutes_and_their_sum_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = tmp_path / "fleet.toml"
    fleet.write_text(
        f'profiles = ["{KILLED}"]\nminutes = 20\n[machines.desk]\nkind = "cpu"\n'
        '[machines.tower]\nkind = "RTX 3090"\nminutes = 45\noptions = ["--mtp-tier=full"]\n'
    )
    assert main(["fleet", "plan", str(fleet), "--out", str(tmp_path / "cells.json")]) == 0
    shown = capsys.readouterr().out
    assert "2 cells, at most 65 minutes: RTX 3090 45, cpu 20." in shown
    cells = load_manifest(tmp_path / "cells.json").cells
    assert [(one.machine, one.flag_set) for one in cells] == [("desk", "n3"), ("tower", "n3")]
    assert all(one.id in shown for one in cells)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ('colour = "red"', "the key 'colour'"),
        ('suites = ["test_nothing.py"]', "there is no suite 'test_nothing.py'"),
        ('options = ["--mtp-colour=red"]', "'--mtp-colour=red' is no option of pytest-mtp"),
        ('options = ["--mtp-json=x"]', "--mtp-json is what a cell says itself"),
        ('options = ["--mtp-tier=best"]', "--mtp-tier: 'best' is none of: screen, full"),
        ('options = ["--mtp-tier"]', "'--mtp-tier' has no value; write --mtp-tier=screen|full"),
        ('options = ["--mtp-resume=yes"]', "'--mtp-resume=yes' has a value"),
        ('options = ["--mtp-set=server.colour=1"]', "server.colour"),
        ('sources = ["master"]', "The source 'master' is of no known form"),
        ('sources = ["git:https://me:word@x.example/l@m"]', "holds a user or password"),
        ('profiles = ["nothing"]', "there is no profile 'nothing'"),
        ("minutes = [", "cannot be read"),
    ],
)
def test_a_fleet_file_that_cannot_be_is_one_sentence(
    more: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = tmp_path / "fleet.toml"
    machines = "[machines.desk]\nkind = 'cpu'\n"
    profiles = "" if "profiles" in more else "profiles = ['phantom']\n"
    fleet.write_text(f"{profiles}{more}\n{machines}")
    assert main(["fleet", "plan", str(fleet)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"pytest-mtp: Fleet file {fleet}")
    assert why.lower() in said.lower()
    assert said.count("\n") == 1


def test_a_plan_that_is_not_written_says_how_to(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "fleet.toml").write_text("profiles = ['phantom']\n[machines.desk]\nkind = 'cpu'\n")
    assert main(["fleet", "plan", str(tmp_path / "fleet.toml")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "With --out MANIFEST they are written, to be run."


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--scheduler", "tls://controller:8786"], "--scheduler is of the executor dask, not of local"),
        (["--tls-key", "fleet.key"], "--tls-key is of the executor dask"),
        (["--artifacts", "jobs"], "--artifacts is of the executor github"),
        (["--executor", "dask", "--kind", "M3 Max"], "--kind is of the executor local, not of dask"),
    ],
)
def test_what_another_executor_takes_is_refused_before_anything_is_run_here(
    words: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest, ledger = written(tmp_path / "cells.json", cell_of("/bin/false")), tmp_path / "ledger"
    assert main(["fleet", "run", manifest, "--ledger", str(ledger), *words]) == 2
    assert why in capsys.readouterr().err
    assert not ledger.exists()


class Spoiling:
    """An executor during whose cell the disk goes bad."""

    ended = False

    def __init__(self, spoilt: Path) -> None:
        self._spoilt = spoilt

    def capacity(self) -> dict[str, int]:
        return {"cpu": 1}

    def run(self, cells: Sequence[Cell], heard: Heard) -> Iterator[CellResult]:
        self._spoilt.mkdir(parents=True)  # nothing can be written in its place
        try:
            yield result_of(cells[0])
        finally:
            self.ended = True


class Losing:
    """An executor whose box goes away with every cell."""

    def capacity(self) -> dict[str, int]:
        return {"cpu": 1}

    def run(self, cells: Sequence[Cell], heard: Heard) -> Iterator[CellResult]:
        for cell in cells:
            for state, box in ((State.RUNNING, "a"), (State.LOST, "a"), (State.WAITING, ""), (State.LOST, "")):
                heard(cell, state, box)
            yield lost(cell, "It went away.", worker="a", started_at=AT, ended_at=AT)


def test_a_cell_that_is_lost_is_told_once_and_by_the_ledger_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cell, ledger, stream = cell_of("/bin/false"), Ledger(tmp_path / "ledger"), io.StringIO()
    ledger.open(manifest_of(cell))
    assert run_cells(Controller(ledger=ledger, history=None, screen=Screen(stream), cells=[cell]), Losing()) == 17
    told = [line.removeprefix(f"{cell.id} desk ") for line in stream.getvalue().splitlines()]
    assert told == ["running on a", "lost on a", "waiting", "lost on a"]
    capsys.readouterr()
    assert main(["fleet", "report", str(ledger.folder)]) == 17
    assert "1 cell: 1 lost" in capsys.readouterr().out


def test_what_runs_is_ended_where_a_result_cannot_be_put_on_record(tmp_path: Path) -> None:
    cell, ledger = cell_of("/bin/false"), Ledger(tmp_path / "ledger")
    executor = Spoiling(ledger.folder / "results" / f"{cell.id}.json")
    controller = Controller(ledger=ledger, history=None, screen=Screen(io.StringIO()), cells=[cell])
    with pytest.raises(InputError, match="cannot be written") as caught:
        run_cells(controller, executor)
    assert executor.ended, caught.traceback  # also while somebody still holds the error


def test_a_kind_that_nobody_has_is_refused_before_anything_is_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = (cell_of("/bin/false"), cell_of("/bin/false", "tower", "RTX 9999"))
    manifest, ledger = written(tmp_path / "cells.json", *cells), tmp_path / "ledger"
    assert main(["fleet", "run", manifest, "--ledger", str(ledger)]) == 4
    said = capsys.readouterr().err
    assert "nobody here is of kind RTX 9999, which tower needs" in said
    assert "nothing was run" in said
    assert not (ledger / "results").exists()
    # The others may be chosen, and the machine may be told what it is.
    assert main(["fleet", "run", manifest, "--ledger", str(ledger), "--cell", cells[0].id]) == 1
    assert list(stamps(ledger / "results")) == [f"{cells[0].id}.json"]


def test_a_cell_that_ends_with_1_is_shown_line_by_line_and_not_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = cell_of("/bin/false")
    words = ["fleet", "run", written(tmp_path / "cells.json", cell), "--ledger", str(tmp_path / "ledger")]
    assert main(words) == 1
    shown = capsys.readouterr().out.splitlines()
    assert re.fullmatch(rf"{cell.id} desk running on \S+", shown[0])
    assert re.fullmatch(rf"{cell.id} desk done on \S+: ERROR", shown[1])
    before = stamps(tmp_path / "ledger" / "results")
    assert main(words) == 1
    assert "running" not in capsys.readouterr().out
    assert stamps(tmp_path / "ledger" / "results") == before


def test_a_controller_that_was_killed_is_taken_up_again(tmp_path: Path) -> None:
    up, server = tmp_path / "up", tmp_path / "server"
    first, second = cell_of("/bin/false"), cell_of(server_that(hangs(up), server), "tower")
    ledger = tmp_path / "ledger"
    words = ["fleet", "run", written(tmp_path / "cells.json", first, second), "--ledger", str(ledger)]
    command = [sys.executable, "-m", "pytest_mtp.cli", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as controller:
        hanging = appeared(up, controller)
        controller.kill()
    assert gone(hanging)
    before = stamps(ledger / "results")
    assert list(before) == [f"{first.id}.json"]
    shown = subprocess.run(
        [sys.executable, "-m", "pytest_mtp.cli", "fleet", "report", str(ledger)], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (shown.returncode, "1 running" in shown.stdout) == (1, True)
    server_that("raise SystemExit(1)", server)
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert f"{first.id} desk running" not in again.stdout
    assert f"{second.id} tower running" in again.stdout
    after = stamps(ledger / "results")
    assert set(after) == {f"{first.id}.json", f"{second.id}.json"}
    assert after[f"{first.id}.json"] == before[f"{first.id}.json"]


def test_an_interrupted_controller_leaves_nothing_behind(tmp_path: Path) -> None:
    up = tmp_path / "up"
    cell = cell_of(server_that(hangs(up), tmp_path / "server"))
    words = ["fleet", "run", written(tmp_path / "cells.json", cell), "--ledger", str(tmp_path / "ledger")]
    with subprocess.Popen([sys.executable, "-m", "pytest_mtp.cli", *words]) as controller:
        hanging = appeared(up, controller)
        inside = psutil.Process(controller.pid).children(recursive=True)
        os.kill(controller.pid, signal.SIGTERM)
    assert controller.returncode == 130
    assert gone(hanging)
    assert [one for one in inside if not gone(one.pid)] == []
    assert not (tmp_path / "ledger" / "results").exists()


def test_the_matrix_is_printed_for_github(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = (cell_of("/bin/false"), cell_of("/bin/false", "tower", "RTX 3090"))
    manifest = written(tmp_path / "cells.json", *cells)
    assert main(["fleet", "run", manifest, "--executor", "github"]) == 0
    jobs = json.loads(capsys.readouterr().out)["include"]
    assert [job["cell"] for job in jobs] == [one.id for one in cells]


def test_artifacts_are_merged_into_ledger_history_and_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = [cell_of("/bin/false", name, "RTX 3090") for name in ("desk", "tower", "hostile", "damaged", "absent")]
    manifest, ledger, jobs = written(tmp_path / "cells.json", *cells), tmp_path / "ledger", tmp_path / "jobs"
    write_json(jobs / "a" / "1.json", result_of(cells[0]))
    write_json(jobs / "b" / "2.json", result_of(cells[1], report=run_report({"code": (1.5, 1.4, 1.7)})))
    write_json(jobs / "c" / "3.json", result_of(cells[2], report=hostile_report(), worker=WORDS, said=WORDS))
    write_json(jobs / "d" / "4.json", result_of(cells[3], report=one_armed(run_report({"code": (1.5, 1.4)}))))
    (jobs / "e").mkdir()
    (jobs / "e" / "5.json").write_text("{")
    words = ["fleet", "run", manifest, "--executor", "github", "--artifacts", str(jobs), "--ledger", str(ledger)]
    words += ["--history", str(tmp_path / "history")]
    assert main(words) == UNDECIDED
    told = capsys.readouterr()
    assert "'e/5.json' was left out" in told.err
    assert f"cell {cells[2].id} is not in the history" in told.err
    assert "damaged: The report of cell" in told.out
    assert "1 waiting" in told.out
    assert len(list((tmp_path / "history").glob("*.json"))) == 2
    page = tmp_path / "fleet.html"
    assert main(["fleet", "report", str(ledger), "--html", str(page)]) == UNDECIDED
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert "\x1b" not in shown + told.out
    assert "<script" not in page.read_text()
    assert "desk" in page.read_text()


def test_a_ledger_that_is_none_or_damaged_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cell, ledger = cell_of("/bin/false"), tmp_path / "ledger"
    assert main(["fleet", "report", str(ledger)]) == 2
    assert "is no ledger" in capsys.readouterr().err
    manifest = written(ledger / "manifest.json", cell)
    (ledger / "results").mkdir()
    (ledger / "results" / f"{cell.id}.json").write_text('{"cell": 3}')
    for words in (["report", str(ledger)], ["run", manifest, "--ledger", str(ledger)]):
        assert main(["fleet", *words]) == 2
        said = capsys.readouterr().err
        assert f"{cell.id}.json cannot be read" in said
        assert said.count("\n") == 1


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"version": 99, "created_at": "", "cells": []}'])
def test_a_manifest_that_is_none_is_one_sentence(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cells.json").write_text(content)
    assert main(["fleet", "run", str(tmp_path / "cells.json")]) == 2
    said = capsys.readouterr().err
    assert str(tmp_path / "cells.json") in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "needs --scheduler"),
        (["--scheduler", "tcp://far.example:8786"], "without TLS"),
        (["--scheduler", "tls://far.example:8786", "--tls-ca", "x"], "three files"),
    ],
)
def test_a_cluster_is_refused_without_an_address_or_open_to_strangers(
    words: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = written(tmp_path / "cells.json", cell_of("/bin/false"))
    assert main(["fleet", "run", manifest, "--executor", "dask", *words]) == 2
    assert why in capsys.readouterr().err
