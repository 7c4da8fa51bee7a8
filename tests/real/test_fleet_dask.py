"""A cell on the real server, run by ``pytest-mtp fleet run`` on a Dask cluster of processes."""

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_mtp.core.build_spec import Build
from pytest_mtp.core.fleet.cell import Cell
from pytest_mtp.core.fleet.manifest import MANIFEST_VERSION, Manifest
from pytest_mtp.runtime.fleet.cell_run import now
from pytest_mtp.runtime.fleet.dask_cluster import DaskCluster
from pytest_mtp.runtime.fleet.ledger import Ledger
from pytest_mtp.runtime.history import History
from pytest_mtp.runtime.store import write_json
from tests.laboratory.boxes import cluster
from tests.runtime.fleet.cells import KILLED

pytest.importorskip("distributed", reason="the extra fleet is not installed")

QUICK = ("--mtp-set=gates.looks=[3]", "--mtp-set=measure.pairs=1", "--mtp-set=request.tokens=32")
EASY = tuple(f"--mtp-set=classes.{name}.floor=0.001" for name in ("miss00", "miss20"))


def test_a_measurement_on_a_box_comes_back_with_its_report(real_build: Build, tmp_path: Path) -> None:
    cell = Cell(
        machine="desk", kind="cpu", source=f"bin:{real_build.server}", profile=str(KILLED),
        options=("test_speedup.py", *QUICK, *EASY), minutes=10,
    )  # fmt: skip
    write_json(tmp_path / "cells.json", Manifest(version=MANIFEST_VERSION, created_at=now(), cells=(cell,)))
    with cluster(tmp_path) as boxes:
        boxes.start_box("desk", "cpu")
        boxes.wait("desk", lambda: DaskCluster(address=boxes.address).capacity() == {"cpu": 1})
        command = [sys.executable, "-m", "pytest_mtp.cli", "fleet", "run", "cells.json", "--executor", "dask"]
        command += ["--scheduler", boxes.address, "--ledger", "ledger", "--history", "history"]
        status = subprocess.run(command, cwd=tmp_path, check=False).returncode
    result = Ledger(tmp_path / "ledger").result(cell)
    assert result is not None
    assert (status, result.status, result.worker) == (0, 0, "desk")
    assert result.report is not None
    assert [len(one.campaign.blocks) for one in result.report.judged] == [3]
    assert len(History(tmp_path / "history", tmp_path / "cache").load().entries) == 1
