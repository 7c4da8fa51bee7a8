"""Run one cell on this machine: text in, text out, so that nodes need not have the same Python.

``run_cell`` is what a cluster is given, by reference; it imports nothing of the cluster.
"""

import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pytest_mtp.core.fleet.cell import CPU, Cell, CellResult
from pytest_mtp.core.run_report import RunReport
from pytest_mtp.core.secret import masked
from pytest_mtp.core.status import UNDECIDED
from pytest_mtp.errors import InputError
from pytest_mtp.runtime.child import trusted_environment
from pytest_mtp.runtime.offspring import guarded
from pytest_mtp.runtime.process import describe_exit, spawn, stop_all, tail
from pytest_mtp.runtime.store import encoded, load_report
from pytest_mtp.runtime.toolchain import ENVIRONMENT

_PASSED = (*ENVIRONMENT, "XDG_*_HOME", "HF_*", "GIT_CONFIG_*", "GIT_SSL_*", "PIP_*", "PYTHONPATH", "USER")
_OF_THE_HUB = "HF_TOKEN"
"""The one key that a cell needs: gated models want it, and no server that is measured sees it."""

_INTERRUPTED = 2
"""pytest's own; of a suite that cannot be collected it is 1 here."""

_LINES, _LONGEST = 20, 4000
_COLUMNS = "200"
"""In fewer, pytest cuts off why a test failed."""
_PACKAGE = Path(__file__).parents[2]
# In a wheel they lie in the package, in a checkout beside it.
_SUITES = (_PACKAGE / "suites", _PACKAGE.parent / "suites")


def run_cell(document: str) -> str:
    """Run the cell of this JSON here; the JSON of its CellResult, also where its measurement failed.

    InputError where the text is no cell. The pytest that measures takes the lock of the device; it ends when the
    thread that called this ends.
    """
    import msgspec

    try:
        cell = msgspec.json.decode(document, type=Cell)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise InputError(f"This is no cell: {error!s:.200}. Give one of a manifest.") from error
    return encoded(ran(cell)).decode()


def ran(cell: Cell, more: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> CellResult:
    """The same of a cell as a value, with ``more`` options that are a matter of this machine, such as its card."""
    started_at = now()
    with tempfile.TemporaryDirectory(prefix="pytest-mtp-cell-") as name:
        report, log = Path(name) / "report.json", Path(name) / "output.log"
        told = cell_environment() if environment is None else environment
        with log.open("w", encoding="utf-8"):
            status, why = _ended(command(cell, report, more), log, told, cell.minutes)
        found, unread = _report(report)
        said = "\n".join(part for part in (tail(log, _LINES), unread, why) if part)
    if status == _INTERRUPTED:
        # By somebody else than its controller, most often a machine that is shut down: its box is lost, not its speed.
        status, found = UNDECIDED, None
    return CellResult(
        cell=cell.id,
        status=status,
        report=found,
        started_at=started_at,
        ended_at=now(),
        worker=platform.node() or "this machine",
        said=masked(said)[-_LONGEST:],
    )


def command(cell: Cell, report: Path, more: Sequence[str] = ()) -> list[str]:
    """The pytest of a cell."""
    folder = suites()
    chosen = [str(folder / one) for one in cell.suites] or [str(folder)]
    about = [f"--mtp-profile={cell.profile}", f"--mtp-json={report}"]
    about += [f"--mtp-source={cell.source}"] if cell.source else []
    about += [f"--mtp-flag-set={cell.flag_set}"] if cell.flag_set else []
    return [
        *(sys.executable, "-m", "pytest", *chosen, "-q", "-ra", "-p", "no:cacheprovider", "-p", "no:xdist"),
        # Else a suite that cannot be imported ends as one that was interrupted.
        "--continue-on-collection-errors",
        # Baselines are those of the folder that the node works in.
        f"--rootdir={Path.cwd()}",
        "--mtp" if cell.kind == CPU else "--mtp-gpu",
        *(*about, *cell.switches, *more),
    ]


def suites() -> Path:
    """The folder of the suites; InputError where this installation has none."""
    found = next((one for one in _SUITES if one.is_dir()), None)
    if found is None:
        raise InputError(f"{_SUITES[0]} is not there, so there is nothing to measure: install pytest-mtp anew.")
    return found


def cell_environment() -> dict[str, str]:
    """What the pytest of a cell sees of our environment."""
    token = os.environ.get(_OF_THE_HUB)
    return trusted_environment(_PASSED, {"COLUMNS": _COLUMNS} | ({} if token is None else {_OF_THE_HUB: token}))


def now() -> str:
    """The time as results have it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _ended(command: Sequence[str], log: Path, environment: Mapping[str, str], minutes: float) -> tuple[int, str]:
    """The exit status, and why it is none of its own; what it started ends with it, and with us."""
    process = spawn(command, log, environment)
    with guarded(process.pid):
        try:
            status = process.wait(minutes * 60)
        except subprocess.TimeoutExpired:
            return -signal.SIGTERM, f"It was not over within {minutes:g} minutes and was ended."
        finally:
            stop_all(process)
    if status == _INTERRUPTED:
        return status, "Its pytest was interrupted, as by a machine that is shut down."
    return status, "" if status >= 0 else f"Its pytest {describe_exit(status)}."


def _report(path: Path) -> tuple[RunReport | None, str]:
    """What it wrote, or why there is nothing."""
    if not path.exists():
        return None, "It wrote no report."
    try:
        return load_report(path), ""
    except InputError as error:
        return None, str(error)
