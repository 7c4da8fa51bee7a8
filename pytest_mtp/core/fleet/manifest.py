"""What a fleet is to run: its cells, planned once, so that every controller runs the same."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pytest_mtp.core.fleet.cell import Cell
from pytest_mtp.errors import InputError

# 1 - first version
MANIFEST_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A plan; every night has its own."""

    version: int
    created_at: str
    """RFC 3339, UTC."""
    cells: tuple[Cell, ...]

    def __post_init__(self) -> None:
        if self.version > MANIFEST_VERSION:
            raise InputError(
                f"This manifest has format {self.version}, this pytest-mtp reads up to {MANIFEST_VERSION}: "
                "update pytest-mtp."
            )
        if not _is_time(self.created_at):
            raise InputError(f"{self.created_at!r:.40} is no time of a manifest; plan the fleet anew.")
        if not self.cells:
            raise InputError("A manifest without cells is nothing to run; plan the fleet anew.")
        twice = [name for name, count in Counter(one.id for one in self.cells).items() if count > 1]
        if twice:
            raise InputError(f"Cell {twice[0]} is in the manifest twice; plan the fleet anew.")

    @property
    def id(self) -> str:
        """12 hex digits over time and cells: what one run of the fleet is told from the next by."""
        told = json.dumps([self.created_at, [one.id for one in self.cells]])
        return hashlib.sha256(told.encode()).hexdigest()[:12]

    def chosen(self, ids: Sequence[str]) -> tuple[Cell, ...]:
        """The cells of these ids, all of them without any; InputError for an id that it has not."""
        there = {one.id: one for one in self.cells}
        unknown = [one for one in ids if one not in there]
        if unknown:
            raise InputError(f"The manifest has no cell {unknown[0]:.40}; `pytest-mtp fleet plan` prints their ids.")
        return tuple(one for one in self.cells if one.id in ids) if ids else self.cells


def minutes_by_kind(cells: Iterable[Cell]) -> Mapping[str, float]:
    """The minutes that all cells of each kind may take, one after the other."""
    found: dict[str, float] = defaultdict(float)
    for one in cells:
        found[one.kind] += one.minutes
    return dict(sorted(found.items()))


def absent(cells: Iterable[Cell], capacity: Mapping[str, int]) -> tuple[Cell, ...]:
    """The cells whose kind nobody has."""
    return tuple(one for one in cells if not capacity.get(one.kind))


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
