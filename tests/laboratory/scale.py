"""What a large fleet costs its controller: a thousand cells that measure nothing, over fifty boxes that are processes.

``python -m tests.laboratory.scale --folder DIR --report REPORT`` prints a table; REPORT is a real one of
``--mtp-json``, which every cell sends back.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace

from pytest_mtp.commands.fleet_run import Controller, run_cells
from pytest_mtp.core.fleet.cell import Cell
from pytest_mtp.core.fleet.manifest import MANIFEST_VERSION, Manifest
from pytest_mtp.core.fleet.placement import Order, homeless, placed
from pytest_mtp.runtime.fleet.cell_run import now
from pytest_mtp.runtime.fleet.dask_cluster import DaskCluster
from pytest_mtp.runtime.fleet.dask_scheduler import told
from pytest_mtp.runtime.fleet.dask_shift import Patience, boxes_from
from pytest_mtp.runtime.fleet.ledger import Ledger
from pytest_mtp.runtime.fleet.stored import load_manifest
from pytest_mtp.runtime.screen import Screen
from pytest_mtp.runtime.store import write_json
from tests.laboratory.acts import REPORT, reporting
from tests.laboratory.boxes import ROOT, Cluster, cluster

_MB = 2**20
_KIND = "fake"
_LOOKS = (10, 100, 1000)
_TIMES = 20


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process has taken so far."""

    cpu_s: float
    resident_mb: float


def cost_of(pid: int) -> Cost:
    """Of a process that lives."""
    import psutil

    process = psutil.Process(pid)
    times = process.cpu_times()
    return Cost(times.user + times.system, process.memory_info().rss / _MB)


def control(manifest: Path, ledger: Path, address: str) -> int:
    """The controller of ``pytest-mtp fleet run``, with what it took as its last line."""
    plan, kept = load_manifest(manifest), Ledger(ledger)
    executor = DaskCluster(address=address, run_name=plan.id, patience=Patience(silent_s=300), act=reporting)
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
    with kept.held():
        kept.open(plan)
        run_cells(Controller(ledger=kept, history=None, screen=Screen(sys.stdout), cells=plan.cells), executor)
    after = resource.getrusage(resource.RUSAGE_SELF)
    took = {
        "wall_s": time.monotonic() - began,
        "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "peak_mb": after.ru_maxrss / 1024,
        "begun_mb": before.ru_maxrss / 1024,
    }
    sys.stdout.write("\n" + json.dumps(took) + "\n")
    return 0


def fleet_row(boxes: Cluster, count: int, cells: int) -> str:
    """One run of so many cells on the boxes that are there."""
    manifest = boxes.folder / f"cells-{count}-{cells}.json"
    made = tuple(Cell(machine=f"machine-{number}", kind=_KIND, profile="phantom") for number in range(cells))
    write_json(manifest, Manifest(version=MANIFEST_VERSION, created_at=now(), cells=made))
    scheduler = boxes.running["scheduler"].pid
    before = cost_of(scheduler)
    ledger = manifest.with_suffix("")
    command = [sys.executable, "-m", "tests.laboratory.scale", "--control", str(manifest), str(ledger), boxes.address]
    said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    took, after = json.loads(said[-1]), cost_of(scheduler)
    kept = sum(one.stat().st_size for one in ledger.rglob("*.json"))
    box = cost_of(next(process.pid for name, process in boxes.running.items() if name != "scheduler"))
    return (
        f"{count:>5} {cells:>6} {took['wall_s']:>7.1f} {1000 * took['cpu_s'] / cells:>10.1f} {took['begun_mb']:>8.0f} "
        f"{took['peak_mb']:>8.0f} {1000 * (after.cpu_s - before.cpu_s) / cells:>10.1f} {after.resident_mb:>9.0f} "
        f"{box.resident_mb:>7.0f} {kept / cells / 1024:>9.0f}"
    )


def fleet_table(folder: Path, report: Path, steps: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Overhead per cell by boxes and cells; the boxes are added step by step."""
    yield "boxes  cells  wall s ms CPU/cell start MB  peak MB  sched ms  sched MB  box MB  KiB kept"
    folder.mkdir(parents=True)
    (folder / REPORT).write_bytes(report.read_bytes())
    with cluster(folder) as boxes:
        executor = DaskCluster(address=boxes.address)
        for count, cells in steps:
            for number in range(len(boxes.running) - 1, count):
                boxes.start_box(f"box-{number}", _KIND)
                # One after the other: fifty Pythons that start at once would each take longer than anybody waits.
                boxes.wait(f"box-{number}", partial(_joined, executor, number))
            yield fleet_row(boxes, count, cells)


def look_row(count: int) -> str:
    """What a look at so many busy boxes takes of the scheduler, and of a controller with as many cells; CPU time."""
    at = [f"tls://10.0.{number // 250}.{number % 250}:40000" for number in range(count)]
    workers = {
        address: SimpleNamespace(
            address=address,
            name=address,
            resources={_KIND: 1.0},
            used_resources={_KIND: 1.0},
            nthreads=1,
            last_seen=0.0,
        )
        for address in at
    }
    tasks = {f"pytest-mtp-{number:029}": SimpleNamespace(processing_on=workers[one]) for number, one in enumerate(at)}
    scheduler, keys = SimpleNamespace(workers=workers, tasks=tasks), list(tasks)
    cells = (Cell(machine=f"machine-{number}", kind=_KIND, profile="phantom") for number in range(count))
    orders, seen = [Order(one) for one in cells], told(keys, dask_scheduler=scheduler)
    boxes = boxes_from(seen["boxes"])
    looked_ms = _cpu_ms(lambda: told(keys, dask_scheduler=scheduler))
    placed_ms = _cpu_ms(lambda: (boxes_from(seen["boxes"]), homeless(orders, boxes), placed(orders, boxes)))
    return f"{count:>5} {looked_ms:>12.2f} {placed_ms:>13.2f} {len(json.dumps(seen)) / 1024:>6.0f}"


def _cpu_ms(act: Callable[[], object]) -> float:
    began = time.process_time()
    for _ in range(_TIMES):
        act()
    return 1000 * (time.process_time() - began) / _TIMES


def _joined(executor: DaskCluster, before: int) -> bool:
    return executor.capacity().get(_KIND, 0) > before


def main() -> int:
    """Print the table."""
    if sys.argv[1:2] == ["--control"]:
        manifest, ledger, address = sys.argv[2:]
        return control(Path(manifest), Path(ledger), address)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="a new one")
    parser.add_argument("--report", type=Path, required=True, help="a real run's, which every cell sends back")
    parser.add_argument("--steps", default="10x200,50x200,50x1000", help="boxes x cells (default: %(default)s)")
    asked = parser.parse_args()
    print("boxes  ms scheduler  ms controller   KiB")  # noqa: T201 - a table
    for count in _LOOKS:
        print(look_row(count))  # noqa: T201
    steps = [(int(boxes), int(cells)) for boxes, cells in (one.split("x") for one in asked.steps.split(","))]
    for line in fleet_table(asked.folder.absolute(), asked.report, steps):
        print(line, flush=True)  # noqa: T201 - a table
    return 0


if __name__ == "__main__":
    sys.exit(main())
