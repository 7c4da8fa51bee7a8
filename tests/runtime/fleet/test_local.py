"""One machine runs its cells in order, and is of the kinds that its cards are."""

from pathlib import Path

import pytest

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.card import Card
from pytest_mtp.core.fleet.cell import State
from pytest_mtp.runtime.fleet import local
from pytest_mtp.runtime.fleet.local import Local
from tests.runtime.fleet.cells import cell_of


def test_cells_run_one_after_the_other_and_what_fails_stops_nothing() -> None:
    cells = (cell_of("/bin/false"), cell_of("/nothing/there", "tower"))
    heard: list[tuple[str, State]] = []
    results = list(Local().run(cells, lambda cell, state, _: heard.append((cell.machine, state))))
    assert [one.cell for one in results] == [one.id for one in cells]
    assert [one.status for one in results] == [1, 1]
    assert results[0].ended_at <= results[1].started_at
    assert heard == [("desk", State.RUNNING), ("tower", State.RUNNING)]


def test_a_machine_is_of_the_kinds_that_it_is_told_to_be() -> None:
    capacity = Local(("M3 Max",)).capacity()
    assert (capacity["cpu"], capacity["M3 Max"]) == (1, 1)
    assert "RTX 9999" not in capacity


def test_a_card_is_named_with_and_without_its_maker(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("NVIDIA GeForce RTX 3090", "NVIDIA GeForce RTX 3090 Ti", "AMD Radeon RX 7900 XTX")
    found = [Card(index=index, uuid=f"GPU-{index}", name=name) for index, name in enumerate(names)]
    there = {Backend.CUDA: tuple(found[:2]), Backend.HIP: tuple(found[2:])}
    monkeypatch.setattr(local, "cards", there.__getitem__)
    assert {"NVIDIA GeForce RTX 3090", "RTX 3090", "RTX 3090 Ti", "RX 7900 XTX", "cpu"} <= set(Local().capacity())
    held = {kind: local._held_to(cell_of(Path("x"), kind=kind), local._cards()) for kind in ("RTX 3090 Ti", "cpu")}
    assert held == {"RTX 3090 Ti": ("--mtp-gpu-id=GPU-1",), "cpu": ()}
