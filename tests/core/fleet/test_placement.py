"""Which cell goes where: one per card, to its own machine while that is there, never again to a box that lost it."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from pytest_mtp.core.fleet.cell import Cell
from pytest_mtp.core.fleet.placement import Box, Loss, Order, capacity_of, homeless, placed


def box(name: str, kind: str = "A", cards: int = 1, taken: int = 0) -> Box:
    return Box(address=f"tcp://{name}", name=name, cards={kind: cards}, taken={kind: taken}, threads=9)


def order(machine: str = "m", kind: str = "A", lost_on: tuple[str, ...] = ()) -> Order:
    cell = Cell(machine=machine, kind=kind, profile="phantom")
    return Order(cell, tuple(Loss(one, "it went away") for one in lost_on))


def names(orders: list[Order], boxes: list[Box]) -> list[tuple[str, str]]:
    return [(one.cell.machine, where.name) for one, where in placed(orders, boxes)]


@pytest.mark.parametrize(
    ("orders", "boxes", "expected"),
    [
        ([order("1"), order("2")], [box("x"), box("y")], [("1", "x"), ("2", "y")]),
        ([order("1"), order("2")], [box("x")], [("1", "x")]),
        ([order("1"), order("2")], [box("x", cards=2)], [("1", "x"), ("2", "x")]),
        ([order("1")], [box("x", taken=1)], []),
        ([order("1")], [box("x", kind="B")], []),
        ([order("1", lost_on=("x",))], [box("x")], []),
        ([order("1", lost_on=("x",))], [box("x"), box("y")], [("1", "y")]),
        # What waits for a twin holds up nobody behind it.
        ([order("1", lost_on=("x",)), order("2")], [box("x")], [("2", "x")]),
        # Its own machine has it, also when another one is idle.
        ([order("x")], [box("w"), box("x")], [("x", "x")]),
        ([order("x")], [box("w"), box("x", taken=1)], []),
        ([order("x", lost_on=("x",))], [box("w"), box("x")], [("x", "w")]),
        ([order("x", kind="A")], [box("w"), box("x", kind="B")], [("x", "w")]),
    ],
)
def test_a_cell_goes_to(orders: list[Order], boxes: list[Box], expected: list[tuple[str, str]]) -> None:
    assert names(orders, boxes) == expected


@pytest.mark.parametrize(
    ("orders", "boxes", "expected"),
    [
        ([order("1"), order("2")], [box("bad"), box("y")], [("1", "y")]),
        # One that is busy now will be free.
        ([order("1")], [box("bad"), box("y", taken=1)], []),
        # Nobody else is there, or none that may have it.
        ([order("1")], [box("bad")], [("1", "bad")]),
        ([order("1")], [box("bad"), box("y", kind="B")], [("1", "bad")]),
        ([order("1", lost_on=("y",))], [box("bad"), box("y")], [("1", "bad")]),
        ([order("1")], [box("bad"), box("worse")], [("1", "bad")]),
        # Its baseline is of that machine.
        ([order("bad")], [box("bad"), box("y")], [("bad", "bad")]),
    ],
)
def test_a_box_in_doubt_has_only_what_no_other_could_take(
    orders: list[Order], boxes: list[Box], expected: list[tuple[str, str]]
) -> None:
    found = placed(orders, boxes, {"bad", "worse"})
    assert [(one.cell.machine, where.name) for one, where in found] == expected


def test_what_no_box_could_ever_take_is_homeless() -> None:
    busy, other = box("x", taken=1), box("y", kind="B")
    waits, lost, absent = order("1"), order("2", lost_on=("x",)), order("3", kind="C")
    assert homeless([waits, lost, absent], [busy, other]) == (lost, absent)


def test_a_box_of_several_kinds_takes_no_more_at_once_than_it_has_threads() -> None:
    both = Box(address="tcp://z", name="z", cards={"B": 1, "A": 1}, taken={}, threads=1)
    assert names([order("1", "A"), order("2", "B")], [both]) == [("1", "z")]
    busy = Box(address="tcp://z", name="z", cards={"B": 1, "A": 1}, taken={"B": 1}, threads=1)
    assert names([order("1", "A")], [busy]) == []


def test_the_capacity_is_over_all_boxes_and_kinds() -> None:
    both = Box(address="tcp://z", name="z", cards={"B": 1, "A": 2}, taken={}, threads=1)
    assert capacity_of([box("x"), both]) == {"A": 3, "B": 1}
    assert capacity_of([]) == {}


def test_what_is_said_of_a_lost_cell_names_every_box_that_had_it() -> None:
    assert order().said == "No box of kind A is left."
    assert "x: it went away; a box: it went away" in order(lost_on=("x", "")).said


@given(
    kinds=some.lists(some.sampled_from("AB"), max_size=12),
    cards=some.lists(some.tuples(some.sampled_from("AB"), some.integers(1, 3), some.integers(0, 3)), max_size=5),
)
def test_no_card_has_two_cells_and_none_is_idle_that_could_have_one(
    kinds: list[str], cards: list[tuple[str, int, int]]
) -> None:
    boxes = [box(f"x{number}", *one) for number, one in enumerate(cards)]
    orders = [order(f"m{number}", kind) for number, kind in enumerate(kinds)]
    found = placed(orders, boxes)
    for one in boxes:
        (kind,) = one.cards
        given_to = sum(where is one for _, where in found)
        assert given_to <= max(one.free(kind), 0)
        waits = sum(each.cell.kind == kind for each in orders) - sum(each.cell.kind == kind for each, _ in found)
        assert waits == 0 or given_to == max(one.free(kind), 0)
