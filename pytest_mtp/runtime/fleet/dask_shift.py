"""One run of cells on a Dask cluster: who has which, who was lost, and what came back.

A box has no more cells than cards: what waits, waits here, so that a box that dies takes along what it ran and nothing
else, and a box that joins finds work. Every cell in flight is published under its key: the scheduler keeps it also
while there is no controller, and the next one takes it up.
"""

import queue
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_mtp.core.fleet.cell import Cell, CellResult, State, lost
from pytest_mtp.core.fleet.placement import MOST_LOSSES, Box, Order, homeless, placed
from pytest_mtp.core.fleet.repute import Repute
from pytest_mtp.core.run_report import migrated
from pytest_mtp.errors import InputError, MtpError
from pytest_mtp.runtime.fleet.cell_run import now
from pytest_mtp.runtime.fleet.dask_scheduler import end_cells, evict, told
from pytest_mtp.runtime.fleet.heartbeat import Heartbeats
from pytest_mtp.runtime.fleet.protocol import Heard
from pytest_mtp.runtime.store import encoded

if TYPE_CHECKING:
    from distributed import Client, Future

_BLANK = "_"
_PREFIX = "pytest-mtp"
_FETCH_S = 60
_NO_SILENCE: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long is waited for what does not come, in seconds."""

    silent_s: float = 60.0
    """For the heartbeat of a box, which comes every second, of a thousand boxes every six."""
    overdue_s: float = 300.0
    """For a result, beyond the minutes that the cell may take."""
    homeless_s: float = 120.0
    """For a box that could take a cell whose last twin is gone, such as one that boots."""
    turn_s: float = 1.0
    """Between two looks at the boxes."""


@dataclass(slots=True, kw_only=True)
class _Flight:
    """A cell that a box has."""

    order: Order
    future: "Future[str]"
    overdue_at: float
    started_at: str
    address: str = ""
    """Empty until it is known which box has what an earlier controller sent."""
    box: str = ""


@dataclass(slots=True)
class Shift:
    """The cells of one run; an iterator over their results, which ends when all have one."""

    client: "Client"
    act: Callable[[str], str]
    run_name: str
    patience: Patience
    heard: Heard
    _waiting: dict[str, Order] = field(default_factory=dict)
    _flying: dict[str, _Flight] = field(default_factory=dict)
    """By key."""
    _tries: dict[str, int] = field(default_factory=dict)
    _homeless_since: dict[str, float] = field(default_factory=dict)
    _heartbeats: Heartbeats = field(default_factory=Heartbeats)
    _repute: Repute = field(default_factory=Repute)
    _landed: "queue.SimpleQueue[str]" = field(default_factory=queue.SimpleQueue)

    def results(self, cells: Sequence[Cell]) -> Iterator[CellResult]:
        """Each as soon as it is there; what runs when this is closed is ended."""
        self._waiting = {one.id: Order(one) for one in cells}
        self._take_up()
        try:
            while self._waiting or self._flying:
                boxes = self._look()
                yield from self._given_up(boxes)
                self._place(boxes)
                yield from self._arrived()
        finally:
            self._end()

    def _take_up(self) -> None:
        """Adopt what an earlier controller of this run sent and did not live to hear of; of two tries the last."""
        names = sorted((name for name in self.client.list_datasets() if _cell_of(name, self.run_name)), key=_try_of)
        for name in names:
            order = self._waiting.pop(_cell_of(name, self.run_name), None)
            if order is not None:
                self._tries[order.cell.id] = _try_of(name) + 1
                self._follow(name, order, self.client.get_dataset(name))

    def _follow(self, key: str, order: Order, future: "Future[str]", box: Box | None = None) -> None:
        overdue_at = time.monotonic() + order.cell.minutes * 60 + self.patience.overdue_s
        flight = _Flight(order=order, future=future, overdue_at=overdue_at, started_at=now())
        if box is not None:
            self._on(flight, box)
        self._flying[key] = flight
        future.add_done_callback(lambda one: self._landed.put(one.key))

    def _on(self, flight: _Flight, box: Box) -> None:
        flight.address, flight.box = box.address, box.name
        self.heard(flight.order.cell, State.RUNNING, box.name)

    def _look(self) -> tuple[Box, ...]:
        """The boxes that live; what others had is lost."""
        seen = self.client.run_on_scheduler(told, list(self._flying))
        boxes = boxes_from(seen["boxes"], self._heartbeats.silences(seen["boxes"]))
        gone = self._hung(boxes)
        for address in gone:
            self.client.run_on_scheduler(evict, address)
        by_address = {one.address: one for one in boxes if one.address not in gone}
        for key, place in seen["places"].items():
            self._check(key, place, by_address, gone)
        return tuple(one for one in by_address.values() if one.silent_s <= self.patience.silent_s)

    def _hung(self, boxes: Iterable[Box]) -> dict[str, str]:
        """Why, by the address of those that have a cell of ours and do not answer, or do not end it."""
        at, ours = time.monotonic(), {one.address for one in self._flying.values()}
        silent = {
            one.address: f"silent for {one.silent_s:.0f} s"
            for one in boxes
            if one.silent_s > self.patience.silent_s and one.address in ours
        }
        overdue = {
            one.address: "long after its time it had sent nothing"
            for one in self._flying.values()
            if at > one.overdue_at and one.address and not one.future.done()
        }
        return overdue | silent

    def _check(self, key: str, place: str | None, boxes: Mapping[str, Box], gone: Mapping[str, str]) -> None:
        flight = self._flying[key]
        if place and not flight.address and place in boxes:
            self._on(flight, boxes[place])
        if flight.address in gone:
            self._lose(key, gone[flight.address])
        elif place is None and not flight.future.done():
            self._lose(key, "it went away (see the log of its worker)")

    def _lose(self, key: str, why: str) -> None:
        """Have the cell run on a twin."""
        flight = self._flying.pop(key)
        self._repute.note(flight.box, in_vain=True)
        self._forget([key])
        # It has waited already, so it is the next.
        self._waiting = {flight.order.cell.id: flight.order.lost(flight.box, why), **self._waiting}
        self.heard(flight.order.cell, State.LOST, flight.box)
        self.heard(flight.order.cell, State.WAITING, "")

    def _given_up(self, boxes: Sequence[Box]) -> Iterator[CellResult]:
        """What no box takes any more."""
        at, nobody = time.monotonic(), {one.cell.id for one in homeless(self._waiting.values(), boxes)}
        self._homeless_since = {one: self._homeless_since.get(one, at) for one in nobody}
        for order in list(self._waiting.values()):
            since = self._homeless_since.get(order.cell.id, at)
            if len(order.losses) >= MOST_LOSSES or at - since > self.patience.homeless_s:
                del self._waiting[order.cell.id]
                self.heard(order.cell, State.LOST, "")
                yield lost(order.cell, order.said, worker=order.last_box, started_at=now(), ended_at=now())

    def _place(self, boxes: Sequence[Box]) -> None:
        """Send what finds a card, to that one alone."""
        sent: dict[str, Future[str]] = {}
        for order, box in placed(self._waiting.values(), boxes, self._repute.doubted):
            cell = order.cell
            del self._waiting[cell.id]
            key = _key(self.run_name, cell.id, self._tries.get(cell.id, 0))
            self._tries[cell.id] = self._tries.get(cell.id, 0) + 1
            sent[key] = self.client.submit(
                self.act,
                encoded(cell).decode(),
                key=key,
                workers=[box.address],
                allow_other_workers=False,
                resources={_resource(cell.kind): 1},
                pure=False,
                retries=0,
            )
            self._follow(key, order, sent[key], box)
        if sent:
            self.client.publish_dataset(**sent)

    def _arrived(self) -> Iterator[CellResult]:
        """What ended within a turn."""
        keys = list(_drained(self._landed, self.patience.turn_s))
        over = []
        for key in keys:
            if key not in self._flying:  # it was given up meanwhile
                continue
            try:
                result = _result(self._flying[key])
            except MtpError as error:
                self._lose(key, str(error))
                continue
            over.append(key)
            self._repute.note(self._flying.pop(key).box, in_vain=result.in_vain)
            yield result
        self._forget(over)

    def _forget(self, keys: Sequence[str]) -> None:
        if keys:
            self.client.unpublish_dataset(list(keys))

    def _end(self) -> None:
        """End what still runs; a cluster that is gone has nothing to end."""
        if not self._flying:
            return
        busy = sorted({one.address for one in self._flying.values() if one.address})
        with suppress(Exception):  # first, so that what is ended is nobody's result
            self._forget(list(self._flying))
        with suppress(Exception):
            self.client.run(end_cells, workers=busy, on_error="ignore", nanny=False)
        self._flying.clear()


def boxes_of(client: "Client") -> tuple[Box, ...]:
    """The workers of this moment."""
    return boxes_from(client.run_on_scheduler(told, [])["boxes"])


def boxes_from(seen: Iterable[Mapping[str, Any]], silent_s: Mapping[str, float] = _NO_SILENCE) -> tuple[Box, ...]:
    """What the scheduler told, with kinds as cells name them, and how long each is silent by its address."""
    return tuple(
        Box(
            address=one["address"],
            name=one["name"],
            cards={_kind(name): int(count) for name, count in one["cards"].items()},
            taken={_kind(name): int(count) for name, count in one["taken"].items()},
            threads=one["threads"],
            silent_s=silent_s.get(one["address"], 0.0),
        )
        for one in seen
    )


def _result(flight: _Flight) -> CellResult:
    """What a box sent; InputError where it sent none, or something else."""
    import msgspec

    cell = flight.order.cell
    try:
        document = msgspec.json.decode(flight.future.result(timeout=_FETCH_S), type=dict[str, Any])
        if isinstance(document.get("report"), dict):
            document["report"] = migrated(document["report"])
        found = msgspec.convert({**document, "worker": flight.box or document.get("worker")}, CellResult)
    except Exception as error:  # whatever a box raises, its worker's death included
        raise InputError(f"{type(error).__name__}: {error!s:.300}") from error
    if found.cell != cell.id:
        raise InputError(f"it answered for cell {found.cell:.40}")
    if found.state is State.LOST:  # a box that is shut down ends its pytest, and may live to say so
        raise InputError(found.said.rpartition("\n")[2])
    return found


def _drained(landed: "queue.SimpleQueue[str]", within_s: float) -> Iterator[str]:
    """What is there, or the first that comes in time."""
    with suppress(queue.Empty):
        yield landed.get(timeout=within_s)
        while True:
            yield landed.get_nowait()


def _key(run_name: str, cell: str, number: int) -> str:
    return f"{_PREFIX}-{run_name}-{cell}-{number}"


def _cell_of(name: str, run_name: str) -> str:
    """The id in a key; empty where it is of another run."""
    head, _, _ = name.rpartition("-")
    before, _, cell = head.rpartition("-")
    return cell if before == f"{_PREFIX}-{run_name}" else ""


def _try_of(name: str) -> int:
    return int(name.rpartition("-")[2])


def _resource(kind: str) -> str:
    """A kind as the command line of Dask takes it, which splits at blanks."""
    return kind.replace(" ", _BLANK)


def _kind(resource: str) -> str:
    return resource.replace(_BLANK, " ")
