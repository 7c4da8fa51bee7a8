"""What a large fleet costs its history: a year of a thousand machines as rows of the index, and a thousand real files.

``python -m tests.laboratory.scale_history --folder DIR --report REPORT`` prints two tables; REPORT is a real one of
``--mtp-json``, given another time and machine for every file.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pytest_mtp.core.history import Entry, entries_of, series_of
from pytest_mtp.core.run_report import RunReport
from pytest_mtp.runtime.history import History
from pytest_mtp.runtime.store import load_report
from tests.laboratory.boxes import ROOT

_MB = 2**20
_NIGHTS = 365
_FIRST = datetime(2026, 1, 1, 3, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Row:
    """A file in the index of a history."""

    stamp: str
    entries: tuple[Entry, ...]


def of_night(report: RunReport, machine: int, number: int) -> RunReport:
    """The same run, of that machine on another night."""
    return replace(report, created_at=_at(machine, number), machine=_machine(report.machine, machine))


def files_row(folder: Path, report: RunReport, files: int) -> str:
    """A history of so many real files: written, read without an index, and with it."""
    history, cache = History(folder / f"history-{files}", folder / f"cache-{files}"), folder / f"cache-{files}"
    began = time.monotonic()
    for number in range(files):
        history.add(of_night(report, number % 1000, number // 1000))
    write_s = time.monotonic() - began
    first_s, again_s = _timed(history.load), _timed(history.load)
    size = sum(one.stat().st_size for one in history.folder.iterdir())
    index = sum(one.stat().st_size for one in cache.rglob("*.json"))
    each = [1000 * one / files for one in (write_s, first_s, again_s)]
    times = f"{each[0]:>9.2f} {each[1]:>11.2f} {each[2]:>11.2f}"
    return f"{files:>7} {size / _MB:>8.0f} {times} {index / files / 1024:>9.2f}"


def rows_row(folder: Path, report: RunReport, machines: int) -> str:
    """An index of a year of so many machines, without the files: its size, to read it, to make series of it."""
    path = folder / f"index-{machines}.json"
    with path.open("wb") as file:
        file.write(b"{" + b",".join(_rows(report, machines)) + b"}")
    size = path.stat().st_size
    command = [sys.executable, "-m", "tests.laboratory.scale_history", "--read", str(path)]
    told = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    path.unlink()
    return (
        f"{machines:>8} {told['rows']:>7} {size / _MB:>8.0f} {told['read_s']:>7.1f} {told['held_mb']:>8.0f} "
        f"{told['series']:>7} {told['series_s']:>9.1f} {told['peak_mb']:>8.0f}"
    )


def read(path: Path) -> None:
    """Read an index as ``History`` does, and make what is judged and shown of it; what that took, as JSON."""
    import msgspec

    began = time.monotonic()
    index = msgspec.json.decode(path.read_bytes(), type=dict[str, Row])
    read_s, held_mb = time.monotonic() - began, _peak_mb()
    began = time.monotonic()
    series = series_of(entry for one in index.values() for entry in one.entries)
    told = {"rows": len(index), "read_s": read_s, "held_mb": held_mb, "series": len(series)}
    json.dump({**told, "series_s": time.monotonic() - began, "peak_mb": _peak_mb()}, sys.stdout)


def _rows(report: RunReport, machines: int) -> Iterator[bytes]:
    import msgspec

    (entry,) = entries_of("run", report)
    for machine in range(machines):
        facts = _machine(entry.facts, machine)
        for number in range(_NIGHTS):
            name = f"{number:03}-{machine:04}"
            one = replace(entry, run=name, at=_at(machine, number), facts=facts)
            yield f'"{name}.json":'.encode() + msgspec.json.encode(Row("1700000 1700000000000000000 0.1.0", (one,)))


def _at(machine: int, number: int) -> str:
    return (_FIRST + timedelta(days=number, seconds=machine)).isoformat()


def _machine(facts: dict[str, str], machine: int) -> dict[str, str]:
    return {**facts, "name": f"machine-{machine}"}


def _timed(act: Callable[[], object]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Print the tables."""
    if sys.argv[1:2] == ["--read"]:
        read(Path(sys.argv[2]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="a new one")
    parser.add_argument("--report", type=Path, required=True, help="a real run's, with one campaign")
    parser.add_argument("--files", type=int, nargs="*", default=[250, 1000])
    parser.add_argument("--machines", type=int, nargs="*", default=[10, 100, 1000])
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True)
    report = load_report(asked.report)
    print("  files       MB  ms write ms 1st read ms 2nd read KiB index")  # noqa: T201 - a table, as below
    for files in asked.files:
        print(files_row(asked.folder, report, files), flush=True)  # noqa: T201
    print("machines    rows index MB  read s  held MB  series  series s  peak MB")  # noqa: T201
    for machines in asked.machines:
        print(rows_row(asked.folder, report, machines), flush=True)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
