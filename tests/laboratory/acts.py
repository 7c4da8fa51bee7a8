"""What boxes of a trial fleet do with a cell, sent by reference; each says in a file when it began and ended.

A box knows by its environment who it is and where the trial keeps its files.
"""

import json
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from types import MappingProxyType

from pytest_mtp.core.fleet.cell import CPU, Cell, CellResult
from pytest_mtp.runtime.fleet.cell_run import now, ran
from pytest_mtp.runtime.store import encoded

FOLDER, BOX = "MTP_TRIAL_FOLDER", "MTP_TRIAL_BOX"
REPORT = "report.json"
"""In the folder: what ``reporting`` sends back."""


@dataclass(frozen=True, slots=True)
class Span:
    """A cell on a box."""

    box: str
    cell: str
    began: float
    """Seconds of the epoch, as is the next."""
    ended: float | None
    """``None`` where nobody lived to say."""


def at_once(document: str) -> str:
    """No measurement: a result at once."""
    cell = _cell(document)
    with _span(cell):
        return _done(cell)


def at_the_gate(document: str) -> str:
    """No measurement: a result once the pipe of this cell, where it has one, was opened and closed by the trial."""
    cell = _cell(document)
    with _span(cell):
        gate = gate_of(_folder(), cell)
        if gate.exists():
            gate.read_bytes()
        return _done(cell)


def at_the_gate_unless_broken(document: str) -> str:
    """The same; on a box whose name begins with ``broken`` what a cell says that could not be measured."""
    if os.environ[BOX].startswith("broken"):
        return encoded(_result(_cell(document), status=1)).decode()
    return at_the_gate(document)


def reporting(document: str) -> str:
    """No measurement: the report of another one, at once."""
    cell, report = _cell(document), (_folder() / REPORT).read_text(encoding="utf-8")
    return _done(cell).replace('"report": null', f'"report": {report}', 1)


def raising(document: str) -> str:
    """What no box can do."""
    raise RuntimeError(f"no box can run {_cell(document).machine}")


def lacking(dask_scheduler: object) -> None:
    """No act: what a scheduler says that is sent the name of something that it has not."""
    raise ModuleNotFoundError(f"No module named 'nothing_here' at {dask_scheduler}")


def as_cpu(document: str) -> str:
    """The real thing, on a box whose card is a CPU: ``--mtp`` in the place of ``--mtp-gpu``, nothing else."""
    cell = _cell(document)
    with _span(cell):
        result = ran(replace(cell, id="", kind=CPU))
        return encoded(replace(result, cell=cell.id)).decode()


def gate_of(folder: Path, cell: Cell) -> Path:
    """The pipe that holds up a cell."""
    return folder / "gates" / cell.id


def spans(folder: Path) -> tuple[Span, ...]:
    """All that the boxes said, by the time of beginning."""
    found: dict[tuple[str, str, float], Span] = {}
    for file in sorted((folder / "spans").glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            found[file.stem, one["cell"], one["began"]] = Span(file.stem, one["cell"], one["began"], one["ended"])
    return tuple(sorted(found.values(), key=lambda one: one.began))


def overlaps(found: Sequence[Span], gone: Mapping[str, float] = MappingProxyType({})) -> list[tuple[Span, Span]]:
    """Cells that were on one box at once; what nobody ended lasted until its box was ``gone``, else for ever."""

    def end(one: Span) -> float:
        return one.ended if one.ended is not None else gone.get(one.box, math.inf)

    pairs = [(first, second) for first, second in combinations(found, 2) if first.box == second.box]
    return [(first, second) for first, second in pairs if first.began < end(second) and second.began < end(first)]


@contextmanager
def _span(cell: Cell) -> Iterator[None]:
    file, began = _folder() / "spans" / f"{os.environ[BOX]}.jsonl", time.time()
    file.parent.mkdir(parents=True, exist_ok=True)
    _say(file, {"cell": cell.id, "began": began, "ended": None})
    yield
    _say(file, {"cell": cell.id, "began": began, "ended": time.time()})


def _say(file: Path, told: dict[str, object]) -> None:
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(told) + "\n")


def _folder() -> Path:
    return Path(os.environ[FOLDER])


def _cell(document: str) -> Cell:
    import msgspec

    return msgspec.json.decode(document, type=Cell)


def _done(cell: Cell) -> str:
    return encoded(_result(cell, status=0)).decode()


def _result(cell: Cell, status: int) -> CellResult:
    at = now()
    return CellResult(cell=cell.id, status=status, report=None, started_at=at, ended_at=at, worker="", said="")
