"""The machine at hand runs its cells in order; the pytest of each takes the lock of the device."""

import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.card import Card
from pytest_mtp.core.fleet.cell import CPU, Cell, CellResult, State
from pytest_mtp.errors import SettingsError
from pytest_mtp.runtime.cards import cards
from pytest_mtp.runtime.fleet.cell_run import ran
from pytest_mtp.runtime.fleet.protocol import Heard

_MAKERS = re.compile(r"\b(?:NVIDIA|GeForce|AMD|Radeon)\s+")
_CARD_OPTION = "--mtp-gpu-id="


@dataclass(frozen=True, slots=True)
class Local:
    """The executor for the machine at hand: ``cpu``, and its cards by name, with or without their maker's."""

    more: tuple[str, ...] = ()
    """Further kinds that this machine is, such as ``M3 Max``."""

    def capacity(self) -> Mapping[str, int]:
        """One cell at a time, of whatever kind."""
        named = [name for card in _cards() for name in _names(card)]
        return dict.fromkeys((CPU, *named, *self.more), 1)

    def run(self, cells: Sequence[Cell], heard: Heard) -> Iterator[CellResult]:
        """One after the other."""
        there = _cards()
        for cell in cells:
            heard(cell, State.RUNNING, platform.node())
            yield ran(cell, _held_to(cell, there))


def _cards() -> tuple[Card, ...]:
    found: list[Card] = []
    for backend in (Backend.CUDA, Backend.HIP):
        try:
            found += cards(backend)
        except SettingsError:  # it has none of these
            continue
    return tuple(found)


def _names(card: Card) -> tuple[str, str]:
    return card.name, _MAKERS.sub("", card.name)


def _held_to(cell: Cell, there: Sequence[Card]) -> tuple[str, ...]:
    """The option that names the cell's card, where another one is there too and none is named."""
    if len(there) < 2 or any(one.startswith(_CARD_OPTION) for one in cell.options):  # noqa: PLR2004 - one is the first
        return ()
    return next(((f"{_CARD_OPTION}{card.uuid}",) for card in there if cell.kind in _names(card)), ())
