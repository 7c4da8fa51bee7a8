"""Which waiting cell goes to which box: one cell per card at once, and never again to a box that lost it."""

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_mtp.core.fleet.cell import Cell

MOST_LOSSES = 3
"""A cell that takes so many boxes with it is not given to another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A worker of the fleet, as the scheduler knows it."""

    address: str
    name: str
    """Stays the same when the worker starts again."""
    cards: Mapping[str, int]
    """How many cells of each kind it takes at once."""
    taken: Mapping[str, int]
    """How many of them somebody holds, other controllers included."""
    threads: int
    """How many cells it takes at once, of whatever kind."""
    silent_s: float = 0.0
    """Since it was last heard of."""

    def free(self, kind: str) -> int:
        """Cells of this kind that it could take now, were there no others."""
        return min(self.cards.get(kind, 0) - self.taken.get(kind, 0), self.room)

    @property
    def room(self) -> int:
        """Cells of any kind that it could take now."""
        return self.threads - sum(self.taken.values())


@dataclass(frozen=True, slots=True)
class Loss:
    """A box that went away with a cell."""

    box: str
    why: str


@dataclass(frozen=True, slots=True)
class Order:
    """A cell that has no result yet."""

    cell: Cell
    losses: tuple[Loss, ...] = ()

    def lost(self, box: str, why: str) -> "Order":
        """The same, to be given to a twin of that box."""
        return replace(self, losses=(*self.losses, Loss(box, why)))

    @property
    def last_box(self) -> str:
        """Who lost it last; empty where nobody had it."""
        return self.losses[-1].box if self.losses else ""

    @property
    def said(self) -> str:
        """Why there is no result, once no box is left for it."""
        if not self.losses:
            return f"No box of kind {self.cell.kind} is left."
        told = "; ".join(f"{one.box or 'a box'}: {one.why}" for one in self.losses)
        return f"It was lost with its box, and no twin took it. {told}"

    def fits(self, box: Box) -> bool:
        """Whether the box may have it, busy or not."""
        return box.cards.get(self.cell.kind, 0) > 0 and box.name not in {one.box for one in self.losses}


def capacity_of(boxes: Iterable[Box]) -> dict[str, int]:
    """Every kind, and how many cells of it run at once."""
    found: dict[str, int] = defaultdict(int)
    for box in boxes:
        for kind, cards in box.cards.items():
            found[kind] += cards
    return dict(sorted(found.items()))


def placed(
    orders: Iterable[Order], boxes: Sequence[Box], doubted: Collection[str] = frozenset()
) -> tuple[tuple[Order, Box], ...]:
    """What can start now, in the given order; the others wait for a card.

    A box that is called as the cell's machine alone has it, while it is there: its baseline is of that machine.
    One that is named in ``doubted`` has only what no other box could take, busy or not.
    """
    idle: dict[str, list[Box]] = defaultdict(list)
    for box in boxes:
        for kind in box.cards:
            idle[kind] += [box] * box.free(kind)
    room = {box.address: box.room for box in boxes}
    homes = {(kind, box.name) for box in boxes for kind in box.cards}
    trusted = [box for box in boxes if box.name not in doubted]
    found = []
    for order in orders:
        cards = idle[order.cell.kind]
        fit = (box for box in cards if room[box.address] > 0 and order.fits(box))
        own = (box for box in fit if not _elsewhere(order, box, homes))
        card = next((box for box in own if box.name not in doubted or _alone(order, box, trusted)), None)
        if card is not None:
            cards.remove(card)
            room[card.address] -= 1
            found.append((order, card))
    return tuple(found)


def homeless(orders: Iterable[Order], boxes: Sequence[Box]) -> tuple[Order, ...]:
    """What no box of now could ever take: its kind is gone, or each of the kind has lost it."""
    by_kind: dict[str, list[Box]] = defaultdict(list)
    for box in boxes:
        for kind in box.cards:
            by_kind[kind].append(box)
    return tuple(one for one in orders if not any(one.fits(box) for box in by_kind[one.cell.kind]))


def _elsewhere(order: Order, box: Box, homes: Container[tuple[str, str]]) -> bool:
    """Whether a box of its own name is there for it, which is not this one."""
    machine, lost_on = order.cell.machine, {one.box for one in order.losses}
    return machine not in {box.name, *lost_on} and (order.cell.kind, machine) in homes


def _alone(order: Order, box: Box, trusted: Iterable[Box]) -> bool:
    """Whether a box that is in doubt is the only one for it: as its own machine, or since no trusted one fits."""
    return box.name == order.cell.machine or not any(order.fits(one) for one in trusted)
