"""What runs cells somewhere: a machine of one's own, a cluster, jobs of GitHub."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from pytest_mtp.core.fleet.cell import Cell, CellResult, State

Heard = Callable[[Cell, State, str], None]
"""Told of every change of a cell, with the name of the worker that has it (empty where none has).

It may be called by any thread.
"""


class Executor(Protocol):
    """One way to run cells."""

    def capacity(self) -> Mapping[str, int]:
        """The kinds that it has, and how many cells of each can run at once."""

    def run(self, cells: Sequence[Cell], heard: Heard) -> Iterator[CellResult]:
        """Run them, each on a node of its kind that it has to itself; a result as soon as its cell is over.

        A cell whose node went away is run again on a twin; where there is none, its result is ``cell.lost``. What is
        left of the iterator when it is closed is not run, and what runs is ended.
        """
