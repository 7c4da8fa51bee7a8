"""Cells whose pytest is real and whose server is none, so that they end in a second."""

import sys
from pathlib import Path

from pytest_mtp.core.fleet.cell import Cell
from pytest_mtp.core.fleet.manifest import MANIFEST_VERSION, Manifest

KILLED = Path(__file__).parents[2] / "laboratory" / "killed.toml"
AT = "2026-12-03T03:00:00+00:00"


def cell_of(server: Path | str, machine: str = "desk", kind: str = "cpu", minutes: float = 5) -> Cell:
    """The speed suite of one profile against that binary."""
    return Cell(
        machine=machine,
        kind=kind,
        source=f"bin:{server}",
        profile=str(KILLED),
        options=("test_speedup.py",),
        minutes=minutes,
    )


def manifest_of(*cells: Cell) -> Manifest:
    return Manifest(version=MANIFEST_VERSION, created_at=AT, cells=cells)


def server_that(does: str, path: Path) -> Path:
    """A program in the place of a llama-server, put there at once, so that nobody starts half of it."""
    fresh = path.with_suffix(".new")
    fresh.write_text(f"#!{sys.executable}\n{does}\n")
    fresh.chmod(0o755)
    return fresh.replace(path)


def hangs(up: Path) -> str:
    """Says with a file that it is up, holding its own pid, and then answers nothing."""
    return f"import os, pathlib, time\npathlib.Path({str(up)!r}).write_text(str(os.getpid()))\ntime.sleep(600)"
