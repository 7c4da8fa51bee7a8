"""Jobs of GitHub run the cells, and leave artifacts; here is what a workflow's matrix needs, and what comes back.

An artifact is of whoever could run code in that job: nothing of it is believed but samples, and a file that is
not what it should be is left out and named.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_mtp.core.fleet.cell import Cell, CellResult
from pytest_mtp.core.fleet.manifest import Manifest
from pytest_mtp.core.history import Unreadable
from pytest_mtp.core.run_report import RunReport
from pytest_mtp.core.status import UNDECIDED
from pytest_mtp.errors import InputError
from pytest_mtp.runtime.fleet.protocol import Heard
from pytest_mtp.runtime.fleet.stored import load
from pytest_mtp.runtime.store import load_report

MOST_JOBS = 256
"""GitHub starts no more of one matrix."""

_SLACK_MINUTES = 15
"""Of a job over its cell, which ends by itself and leaves a result."""
_MOST_FILES = 10_000
_MEND = "It was left out; see that the job uploaded what `pytest-mtp fleet run` wrote."
_MANIFEST = "manifest.json"
_HEARD = "heard"


def matrix(cells: Sequence[Cell]) -> str:
    """The matrix as one line of JSON for ``fromJSON``; InputError where GitHub would not start them all."""
    if len(cells) > MOST_JOBS:
        raise InputError(f"GitHub starts at most {MOST_JOBS} jobs of a matrix, these are {len(cells)}: plan fewer.")
    jobs = [
        {
            "cell": one.id,
            "machine": one.machine,
            "kind": one.kind,
            "name": one.name,
            "timeout_minutes": math.ceil(one.minutes) + _SLACK_MINUTES,
        }
        for one in cells
    ]
    return json.dumps({"include": jobs})


@dataclass(frozen=True, slots=True)
class Artifacts:
    """The executor that runs nothing: it takes the results that jobs left below a folder."""

    folder: Path
    kinds: tuple[str, ...]
    """Those of the manifest: what has a result had its runner."""
    run_name: str = ""
    """The id of the manifest: a result beside another one is of another night."""
    refused: list[Unreadable] = field(default_factory=list)
    """Files that were left out, once ``run`` is through."""

    def capacity(self) -> Mapping[str, int]:
        """As many as GitHub starts of one matrix; which runners there are is not known here."""
        return dict.fromkeys(self.kinds, MOST_JOBS)

    def run(self, cells: Sequence[Cell], heard: Heard) -> Iterator[CellResult]:
        """The results of these cells, as far as there are any; a second one of a cell is refused."""
        asked, found = {one.id: one for one in cells}, dict[str, Path]()
        for path in self._files():
            try:
                self._check_plan(path)
                result = _result(path, asked)
                if result.cell not in asked:
                    raise InputError(f"Cell {result.cell!r:.40} is none of those that are asked for.")
                if result.cell in found:
                    raise InputError(f"Cell {result.cell} has a result in {found[result.cell]} already.")
            except InputError as error:
                self.refused.append(Unreadable(str(path.relative_to(self.folder)), str(error)))
                continue
            found[result.cell] = path
            yield result

    def _check_plan(self, path: Path) -> None:
        """InputError for a result out of the ledger of another plan, as a runner that is not emptied keeps one."""
        beside = path.parent.parent / _MANIFEST
        if beside.parent.is_relative_to(self.folder) and beside.is_file() and not beside.is_symlink():
            found = load(beside, Manifest, _MEND).id
            if found != self.run_name:
                raise InputError(f"It is of another plan, {found}, and not of {self.run_name or 'this one'}. {_MEND}")

    def _files(self) -> Iterator[Path]:
        """What may be a result, in the order of names; links lead to files of ours, and are refused."""
        if not self.folder.is_dir():
            raise InputError(f"{self.folder} is no folder; give the one that the artifacts were downloaded to.")
        for count, path in enumerate(sorted(self.folder.rglob("*.json"))):
            name = str(path.relative_to(self.folder))
            if count >= _MOST_FILES:
                self.refused.append(Unreadable(name, f"It and what follows is beyond {_MOST_FILES} files."))
                return
            if path.is_symlink() or not path.resolve().is_relative_to(self.folder.resolve()):
                self.refused.append(Unreadable(name, "It is a link."))
            elif not path.is_file():
                self.refused.append(Unreadable(name, "It is no file."))
            elif path.name != _MANIFEST and path.parent.name != _HEARD:
                yield path


def _result(path: Path, asked: Mapping[str, Cell]) -> CellResult:
    """The result that a file holds; of a bare report it is of the cell whose id its name or folder has."""
    try:
        return load(path, CellResult, _MEND)
    except InputError as error:
        named = [one for one in asked if any(one in part for part in path.parts[-2:])]
        if len(named) != 1:
            raise
        try:
            return _of_report(named[0], load_report(path))
        except InputError:
            raise error from None


def _of_report(cell: str, report: RunReport) -> CellResult:
    """What a report alone tells: its time is when it was written, its status what its verdicts come to."""
    outcomes = [verdict.outcome for one in report.judged for verdict in one.verdicts]
    return CellResult(
        cell=cell,
        status=UNDECIDED if any(one.open for one in outcomes) else 0,
        report=report,
        started_at=report.created_at,
        ended_at=report.created_at,
        worker="",
        said="",
    )
