"""Cells of a fleet on the real server: run here in order, all results back, also after the controller was killed."""

import subprocess
import sys
from pathlib import Path

from pytest_mtp.core.build_spec import Build
from pytest_mtp.core.fleet.cell import CellResult
from pytest_mtp.core.fleet.manifest import Manifest
from pytest_mtp.runtime.fleet.ledger import Ledger
from pytest_mtp.runtime.history import History
from tests.runtime.fleet.cells import KILLED

# One look at few blocks, so that a cell is short.
FLEET = """
profiles = ["{profile}"]
sources = ["bin:{server}"]
suites = ["test_speedup.py"]
options = [
  "--mtp-set=classes.miss00.floor=0.02", "--mtp-set=classes.miss20.floor=0.02", "--mtp-set=gates.looks=[3]",
  "--mtp-set=measure.pairs=1",
]
minutes = 10
[machines.desk]
kind = "cpu"
[machines.tower]
kind = "cpu"
minutes = 11
"""


def fleet(folder: Path, *words: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "pytest_mtp.cli", "fleet", *words]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)


def results(ledger: Ledger, manifest: Manifest) -> list[CellResult]:
    return [one for cell in manifest.cells if (one := ledger.result(cell)) is not None]


def test_every_cell_comes_back_and_none_is_run_twice(real_build: Build, tmp_path: Path) -> None:
    (tmp_path / "fleet.toml").write_text(FLEET.format(profile=KILLED, server=real_build.server))
    with fleet(tmp_path, "plan", "fleet.toml", "--out", "cells.json") as plan:
        plan.communicate()
    assert plan.returncode == 0
    words = ("run", "cells.json", "--ledger", "ledger", "--history", "history")
    with fleet(tmp_path, *words) as controller:
        assert controller.stdout is not None
        # Killed once the first cell is over and the second runs.
        assert next(line for line in controller.stdout if " tower running " in line)
        controller.kill()
    ledger = Ledger(tmp_path / "ledger")
    manifest = ledger.manifest()
    (first,) = results(ledger, manifest)
    with fleet(tmp_path, *words) as again:
        assert again.stdout is not None
        said = again.stdout.read()
    assert " desk running " not in said
    found = results(ledger, manifest)
    assert found[0] == first
    # Three blocks on a machine that does something else too may be too few for an answer, and never a loss.
    statuses = {one.status for one in found}
    assert statuses <= {0, 17}
    assert again.returncode == max(statuses)
    assert all(one.report is not None for one in found)
    assert found[0].ended_at <= found[1].started_at
    loaded = History(tmp_path / "history", tmp_path / "cache").load()
    assert len(loaded.entries) == 2
    assert loaded.unreadable == ()
    assert {name for entry in loaded.entries for name in entry.classes} == {"miss00", "miss20"}
