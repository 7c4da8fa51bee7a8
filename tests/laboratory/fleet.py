"""A fleet of processes on this machine, three kinds of cards, real cells on the phantom; boxes die, hang and wake.

``python -m tests.laboratory.fleet --folder DIR --server LLAMA_SERVER`` prints what was promised, whether it was kept,
and a table of every cell on every box, by which no two were on one card at once. A card is a CPU here: the cells are
``--mtp`` in the place of ``--mtp-gpu``, all else is what a fleet runs.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from pytest_mtp.commands.fleet_run import Controller, run_cells
from pytest_mtp.core.fleet.cell import Cell, CellResult
from pytest_mtp.core.fleet.manifest import MANIFEST_VERSION, Manifest
from pytest_mtp.runtime.fleet.cell_run import now
from pytest_mtp.runtime.fleet.dask_cluster import DaskCluster
from pytest_mtp.runtime.fleet.dask_shift import Patience
from pytest_mtp.runtime.fleet.ledger import Ledger
from pytest_mtp.runtime.fleet.stored import load_manifest
from pytest_mtp.runtime.process import tail
from pytest_mtp.runtime.screen import Screen
from pytest_mtp.runtime.store import write_json
from tests.laboratory.acts import Span, as_cpu, overlaps, spans
from tests.laboratory.boxes import ROOT, Cluster, cluster
from tests.laboratory.kills import PROFILE
from tests.runtime.fleet.cells import cell_of, hangs, server_that

BOXES = {
    "tower": "RTX 3090",
    "attic": "RTX 3090",
    "desk": "RTX 4090",
    "cellar": "RTX 4090",
    "lab": "RTX 5090",
}
_QUICK = ("--mtp-set=gates.looks=[3]", "--mtp-set=measure.pairs=1", "--mtp-set=request.tokens=32")
_EASY, _NEVER = 0.001, 1000.0
_CLASSES = ("miss00", "miss20")
_PATIENCE_S = 900.0
_POLL_S = 0.1


@dataclass(slots=True)
class Trial:
    """What is done to a fleet, and what came of it."""

    boxes: Cluster
    server: Path
    patience: Patience
    gone: dict[str, float] = field(default_factory=dict)
    """When each box that was killed was gone, seconds of the epoch."""
    kept: list[tuple[str, bool, str]] = field(default_factory=list)
    """What was promised, whether it was kept, and the figure."""

    def promise(self, what: str, figure: object, *, kept: bool) -> None:
        """Put it on record."""
        self.kept.append((what, kept, str(figure)))
        sys.stderr.write(f"{'kept  ' if kept else 'BROKEN'} {what} {figure}\n")

    def cell(self, number: int, kind: str, floor: float = _EASY) -> Cell:
        """A measurement of seconds that passes, or loses below a floor that nothing reaches."""
        floors = tuple(f"--mtp-set=classes.{one}.floor={floor:g}" for one in _CLASSES)
        return Cell(
            machine=f"machine-{number}",
            kind=kind,
            source=f"bin:{self.server}",
            profile=str(PROFILE),
            options=("test_speedup.py", *_QUICK, *floors),
            minutes=10,
        )

    def planned(self, name: str, *cells: Cell) -> Path:
        """A manifest of these."""
        path = self.boxes.folder / f"{name}.json"
        write_json(path, Manifest(version=MANIFEST_VERSION, created_at=now(), cells=cells))
        return path

    def controller(self, manifest: Path) -> "subprocess.Popen[bytes]":
        """A process of its own, that can be killed; its ledger lies beside its manifest."""
        told = [manifest, manifest.with_suffix(""), self.boxes.address, self.patience.silent_s]
        command = [sys.executable, "-m", "tests.laboratory.fleet", "--control", *map(str, told)]
        with manifest.with_suffix(".log").open("ab") as log:
            return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)

    def results(self, manifest: Path) -> dict[str, CellResult]:
        """What the ledger has."""
        ledger = Ledger(manifest.with_suffix(""))
        found = (ledger.result(one) for one in load_manifest(manifest).cells)
        return {one.cell: one for one in found if one is not None}

    def left(self, box: str) -> list[str]:
        """Processes of a box that live, but for its worker."""
        own = self.boxes.running.get(box)
        return [one for one in self.boxes.processes(box) if own is None or not one.endswith(f" {own.pid}")]

    def measures(self, box: str) -> bool:
        """Whether a server of a cell runs there."""
        return any("llama-server" in one for one in self.left(box))

    def wait(self, what: str, until: Callable[[], bool]) -> float:
        """Look until it is so; how long it took, seconds."""
        began = time.monotonic()
        while not until():
            if time.monotonic() - began > _PATIENCE_S:
                raise AssertionError(f"{what}: not within {_PATIENCE_S:g} s")
            time.sleep(_POLL_S)
        return time.monotonic() - began

    def now_on(self, box: str) -> str:
        """The cell that a box has, or had last."""
        return [one.cell for one in spans(self.boxes.folder) if one.box == box][-1]


def a_night(trial: Trial) -> None:
    """Real cells over three kinds; a box dies, one hangs, the controller is killed, a cell loses."""
    kinds = ["RTX 3090"] * 4 + ["RTX 4090"] * 4 + ["RTX 5090"] * 2
    cells = [trial.cell(number, kind) for number, kind in enumerate(kinds)]
    loses = trial.cell(99, "RTX 5090", floor=_NEVER)
    manifest = trial.planned("night", *cells, loses)
    with trial.controller(manifest) as controller:
        trial.wait("every box measures", lambda: all(map(trial.measures, BOXES)))
        died, hung = _killed(trial, "tower"), _halted(trial, "desk")
        running = {box: trial.now_on(box) for box in ("attic", "cellar", "lab")}
        controller.kill()
    again = trial.controller(manifest)
    status = again.wait(_PATIENCE_S)
    results = trial.results(manifest)
    trial.promise("all results are back", f"{len(results)} of {len(cells) + 1}", kept=len(results) == len(cells) + 1)
    _judge(trial, results, died, hung, loses, status)
    twice = _twice(trial, set(running.values()))
    trial.promise("what ran when the controller was killed was taken up, not run twice", len(running), kept=not twice)
    trial.boxes.resume("desk")
    woke_s = trial.wait("the box that woke leaves", lambda: trial.boxes.running["desk"].poll() is not None)
    left_s = trial.wait("nothing of it is left", lambda: not trial.left("desk"))
    trial.promise("the hung box, woken, leaves by itself", f"within {woke_s + left_s:.1f} s", kept=True)


def _killed(trial: Trial, box: str) -> str:
    """Kill a worker while its cell's pytest measures; the cell."""
    cell, before = trial.now_on(box), len(trial.left(box))
    trial.gone[box] = trial.boxes.kill(box)
    took_s = trial.wait("the orphan ends", lambda: not trial.left(box))
    trial.promise("the pytest of a killed worker ends by itself", f"{before} processes, {took_s:.1f} s", kept=True)
    return cell


def _halted(trial: Trial, box: str) -> str:
    """Stop a worker while its cell's pytest measures; the cell."""
    cell = trial.now_on(box)
    trial.boxes.halt(box)
    return cell


def _judge(trial: Trial, results: dict[str, CellResult], died: str, hung: str, loses: Cell, status: int) -> None:
    trial.promise("the cell of the killed box ran on its twin", "attic", kept=results[died].worker == "attic")
    trial.promise("the cell of the hung box ran on its twin", "cellar", kept=results[hung].worker == "cellar")
    lost = results[loses.id]
    trial.promise(
        "a cell that loses ends with 1, and so does the run", lost.worker, kept=(lost.status, status) == (1, 1)
    )
    passed = [one for cell, one in results.items() if cell != loses.id]
    green = all(one.status == 0 and one.report is not None for one in passed)
    trial.promise("all others pass with a report", len(passed), kept=green)


def _twice(trial: Trial, cells: set[str]) -> list[str]:
    began = [one.cell for one in spans(trial.boxes.folder) if one.cell in cells]
    return sorted({one for one in began if began.count(one) > 1})


def an_absent_kind(trial: Trial) -> None:
    """Nothing is sent where a cell needs what nobody has."""
    before = len(spans(trial.boxes.folder))
    manifest = trial.planned("absent", trial.cell(100, "RTX 3090"), trial.cell(101, "Tesla P40"))
    status = trial.controller(manifest).wait(_PATIENCE_S)
    sent = len(spans(trial.boxes.folder)) - before
    trial.promise("an absent kind is refused before anything is sent", f"exit {status}", kept=(status, sent) == (4, 0))


def a_last_twin(trial: Trial) -> None:
    """The only box of a kind dies with a cell."""
    cell = trial.cell(102, "RTX 5090")
    manifest = trial.planned("last", cell)
    with trial.controller(manifest) as controller:
        trial.wait("it measures", lambda: trial.now_on("lab") == cell.id and trial.measures("lab"))
        _killed(trial, "lab")
        status = controller.wait(_PATIENCE_S)
    result = trial.results(manifest)[cell.id]
    lost = (result.status, result.report, status) == (17, None, 17)
    trial.promise("a cell whose last twin died is lost: 17, no regression", result.said, kept=lost)


def a_box_that_wakes(trial: Trial) -> None:
    """A box hangs while its cell's pytest waits for a server, and wakes when the run is over."""
    up = trial.boxes.folder / "up"
    server = server_that(hangs(up), trial.boxes.folder / "server-that-hangs")
    manifest = trial.planned("wakes", cell_of(server, kind="RTX 4090"))
    with trial.controller(manifest) as controller:
        trial.wait("its server is up", lambda: up.exists() and bool(up.read_text()))
        trial.boxes.halt("cellar")
        noticed_s = trial.wait("the run ends", lambda: controller.poll() is not None)
    (result,) = trial.results(manifest).values()
    lost = (result.status, controller.returncode) == (17, 17) and "silent for" in result.said
    trial.promise("a box that hangs is noticed", f"{result.said} The run ended after {noticed_s:.0f} s", kept=lost)
    before = len(trial.left("cellar"))
    trial.boxes.resume("cellar")
    ended_s = trial.wait("all of it ends", lambda: not trial.left("cellar"))
    trial.promise("the pytest of a box that woke ends", f"{before} processes, {ended_s:.0f} s", kept=before > 0)


def table(found: tuple[Span, ...], gone: dict[str, float]) -> Iterator[str]:
    """Every cell on every box, by box; seconds since the first."""
    start = min(one.began for one in found)
    yield f"{'card':9} {'box':7} {'cell':12} {'from s':>8} {'to s':>8}"
    for one in sorted(found, key=lambda one: (BOXES[one.box], one.box, one.began)):
        until, note = (one.ended, "") if one.ended is not None else (gone.get(one.box), " box killed")
        told, note = ("?", " box hung") if until is None else (f"{until - start:.2f}", note)
        yield f"{BOXES[one.box]:9} {one.box:7} {one.cell:12} {one.began - start:8.2f} {told:>8}{note}"


def _disjoint(trial: Trial) -> None:
    found = spans(trial.boxes.folder)
    trial.promise("no two cells on one card at once", f"{len(found)} spans", kept=not overlaps(found, trial.gone))
    results = trial.results(trial.boxes.folder / "night.json").values()
    by_box: dict[str, list[CellResult]] = {}
    for one in sorted(results, key=lambda one: one.started_at):
        by_box.setdefault(one.worker, []).append(one)
    crossed = [
        second.cell
        for one in by_box.values()
        for first, second in pairwise(one)
        if datetime.fromisoformat(second.started_at) < datetime.fromisoformat(first.ended_at)
    ]
    trial.promise("nor by the times in their results", f"{len(results)} results", kept=not crossed)


def control(manifest: Path, ledger: Path, address: str, silent_s: float) -> int:
    """What ``pytest-mtp fleet run --executor dask`` does, for cards that are CPUs."""
    plan = load_manifest(manifest)
    patience = Patience(silent_s=silent_s, homeless_s=10)
    executor = DaskCluster(address=address, run_name=plan.id, patience=patience, act=as_cpu)
    kept = Ledger(ledger)
    with kept.held():
        kept.open(plan)
        return run_cells(Controller(ledger=kept, history=None, screen=Screen(sys.stdout), cells=plan.cells), executor)


def main() -> int:
    """Print the table; 1 where a promise was broken."""
    if sys.argv[1:2] == ["--control"]:
        manifest, ledger, address, silent_s = sys.argv[2:]
        return control(Path(manifest), Path(ledger), address, float(silent_s))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="a new one")
    parser.add_argument("--server", type=Path, required=True, help="a llama-server for the CPU")
    parser.add_argument("--silent", type=float, default=30.0, help="when a box hangs, seconds")
    asked = parser.parse_args()
    folder = asked.folder.absolute()
    folder.mkdir(parents=True)
    with cluster(folder) as boxes:
        trial = Trial(boxes, asked.server.absolute(), Patience(silent_s=asked.silent))
        for name, kind in BOXES.items():
            boxes.start_box(name, kind)
        executor = DaskCluster(address=boxes.address)
        trial.wait("all boxes join", lambda: sum(executor.capacity().values()) == len(BOXES))
        try:
            for scene in (an_absent_kind, a_night, a_last_twin, a_box_that_wakes):
                scene(trial)
            _disjoint(trial)
        except (AssertionError, KeyError, subprocess.TimeoutExpired):
            sys.stderr.write("".join(f"{one}:\n{tail(one)}\n" for one in sorted(folder.glob("*.log"))))
            raise
        lines = [f"{'kept' if kept else 'BROKEN':7}{what}: {figure}" for what, kept, figure in trial.kept]
        print("\n".join([*table(spans(folder), trial.gone), "", *lines]))  # noqa: T201 - a table
    return 0 if all(kept for _, kept, _ in trial.kept) else 1


if __name__ == "__main__":
    sys.exit(main())
