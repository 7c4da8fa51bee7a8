"""The controller of ``pytest-mtp fleet run``: what is over is kept first, then shown, and never run again."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING

from pytest_mtp.commands.soundness import judging
from pytest_mtp.core.fleet.cell import Cell, CellResult, State
from pytest_mtp.core.fleet.manifest import absent
from pytest_mtp.core.fleet.standing import Conclusion, Standing, conclusion, exit_status
from pytest_mtp.core.status import UNDECIDED
from pytest_mtp.errors import InputError
from pytest_mtp.reports.escaping import one_line
from pytest_mtp.reports.fleet import change_line, live_lines, table

if TYPE_CHECKING:
    from pytest_mtp.runtime.fleet.ledger import Ledger
    from pytest_mtp.runtime.fleet.protocol import Executor
    from pytest_mtp.runtime.history import History
    from pytest_mtp.runtime.screen import Screen

_NO_SUCH_KIND = 4


@dataclass(slots=True, kw_only=True)
class Controller:
    """Where every cell is, in memory and on disk."""

    ledger: "Ledger"
    history: "History | None"
    screen: "Screen"
    cells: Sequence[Cell]
    notices: list[str] = field(default_factory=list)
    """What could not be kept in the history."""
    _standings: dict[str, Standing] = field(default_factory=dict)
    _alone: Lock = field(default_factory=Lock)

    @property
    def standings(self) -> tuple[Standing, ...]:
        """Every cell, in the order of the manifest."""
        return tuple(self._standings.values())

    def take_up(self) -> tuple[Cell, ...]:
        """Read what an earlier controller finished; the cells that are to be run."""
        for cell in self.cells:
            result = self.ledger.finished(cell)
            standing = Standing(cell=cell)
            self._standings[cell.id] = standing if result is None else standing.over(result, self._gathered(result))
        return tuple(one.cell for one in self.standings if not one.state.over)

    def heard(self, cell: Cell, state: State, worker: str) -> None:
        """Put a change on record and show it; that a cell is done is told by its result."""
        if state.over:
            return
        with self._alone:
            self.ledger.heard(cell, state, worker)
            self._show(self._standings[cell.id].heard(state, worker))

    def over(self, result: CellResult) -> None:
        """Put a result on record, then into the history, then show it."""
        with self._alone:
            self.ledger.keep(result)
            self._show(self._standings[result.cell].over(result, self._gathered(result)))

    def _gathered(self, result: CellResult) -> Conclusion:
        """What it comes to, its report being kept in the history where it can be judged."""
        found = concluded(result)
        if self.history is not None and result.report is not None and found.verdicts:
            try:
                self.history.add(result.report)
            except InputError as error:
                self.notices.append(f"cell {result.cell} is not in the history: {error}")
        return found

    def _show(self, standing: Standing) -> None:
        before = change_line(self._standings[standing.cell.id])
        self._standings[standing.cell.id] = standing
        block = live_lines(self.standings, *self.screen.size) if self.screen.live else ()
        if (now := change_line(standing)) != before:  # that a cell is lost is heard, and told by its result
            self.screen.show(block, now)


def run_cells(controller: Controller, executor: "Executor") -> int:
    """Run what is not over yet, and show all of it; 4 where nobody has what a cell needs, and nothing was run."""
    waiting = controller.take_up()
    capacity = executor.capacity() if waiting else {}
    refused = absent(waiting, capacity)
    if refused:
        return _refused(controller, refused, tuple(capacity))
    try:
        for result in executor.run(waiting, controller.heard) if waiting else ():
            controller.over(result)
    finally:
        controller.screen.clear()
    return _ended(controller)


def concluded(result: CellResult) -> Conclusion:
    """What a result comes to; one whose samples lack something has measured nothing, and says so."""
    try:
        with judging(f"The report of cell {result.cell}"):
            return conclusion(result)
    except InputError as error:
        return conclusion(replace(result, report=None, said=str(error)))


def recorded(ledger: "Ledger", cell: Cell) -> Standing:
    """Where a cell is, as a ledger has it: its result, else the last that was heard."""
    standing, result = Standing(cell=cell), ledger.result(cell)
    if result is not None and result.state.over:
        return standing.over(result, concluded(result))
    last = ledger.last_heard(cell)
    if result is not None and (last is None or last.state is State.LOST):
        return standing.over(result, concluded(result))
    return standing if last is None or last.state.over else standing.heard(last.state, last.worker)


def _refused(controller: Controller, refused: Sequence[Cell], there: Sequence[str]) -> int:
    for cell in refused:
        controller.heard(cell, State.REFUSED, "")
    controller.screen.clear()
    kinds = dict.fromkeys(cell.kind for cell in refused)
    machines = dict.fromkeys(cell.machine for cell in refused)
    sys.stderr.write(
        one_line(
            f"pytest-mtp: nobody here is of kind {', '.join(kinds)}, which {', '.join(machines)} needs (there is "
            f"{', '.join(there) or 'none'}); nothing was run. Start such a machine, or choose cells with --cell."
        )
        + "\n"
    )
    return _NO_SUCH_KIND


def _ended(controller: Controller) -> int:
    import shutil

    for line in table(controller.standings, shutil.get_terminal_size().columns):
        sys.stdout.write(f"{line}\n")
    for notice in controller.notices:
        sys.stderr.write(f"pytest-mtp: {one_line(notice)}\n")
    status = exit_status(controller.standings)
    return UNDECIDED if controller.notices and not status else status
