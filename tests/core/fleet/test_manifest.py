"""A manifest holds each cell once, and what is refused is refused before anything is run."""

import pytest

from pytest_mtp.core.fleet.cell import Cell
from pytest_mtp.core.fleet.manifest import MANIFEST_VERSION, Manifest, absent, minutes_by_kind
from pytest_mtp.errors import InputError

CELLS = tuple(
    Cell(machine=name, kind=kind, profile="phantom", minutes=minutes)
    for name, kind, minutes in (("a", "cpu", 10), ("b", "RTX 3090", 30), ("c", "RTX 3090", 15))
)
AT = "2026-12-03T03:00:00+00:00"


@pytest.mark.parametrize(
    ("version", "at", "cells", "why"),
    [
        (MANIFEST_VERSION + 1, AT, CELLS, "update pytest-mtp"),
        (MANIFEST_VERSION, "yesterday", CELLS, "'yesterday' is no time"),
        (MANIFEST_VERSION, "2026-12-03T03:00:00", CELLS, "is no time"),
        (MANIFEST_VERSION, AT, (), "without cells is nothing to run"),
        (MANIFEST_VERSION, AT, (*CELLS, CELLS[0]), "in the manifest twice"),
    ],
)
def test_what_no_manifest_can_be_is_refused(version: int, at: str, cells: tuple[Cell, ...], why: str) -> None:
    with pytest.raises(InputError, match=why):
        Manifest(version=version, created_at=at, cells=cells)


def test_cells_are_chosen_by_id_in_the_order_of_the_manifest() -> None:
    manifest = Manifest(version=MANIFEST_VERSION, created_at=AT, cells=CELLS)
    assert manifest.chosen([CELLS[2].id, CELLS[0].id]) == (CELLS[0], CELLS[2])
    assert manifest.chosen([]) == CELLS
    with pytest.raises(InputError, match="has no cell nothing"):
        manifest.chosen(["nothing"])


def test_minutes_are_summed_by_kind_and_absent_kinds_are_found() -> None:
    assert minutes_by_kind(CELLS) == {"RTX 3090": 45, "cpu": 10}
    assert absent(CELLS, {"cpu": 2, "RTX 3090": 0}) == CELLS[1:]
