"""Whether a server fits into the memory it computes in, and what would make it fit."""

from dataclasses import dataclass, replace

from pytest_mtp.core.amount import memory_amount
from pytest_mtp.core.finding import Finding, State
from pytest_mtp.core.footprint import DEVICE_MARGIN, Footprint, Place, footprint
from pytest_mtp.core.gguf_header import Header
from pytest_mtp.core.server_spec import ServerSpec

_CTX_STEP = 1024
_SHOWN = 2**20
"""Bytes of a part that is worth its words."""
_PARTS = {
    "weights": "weights",
    "kv": "KV cache",
    "recurrent": "recurrent states",
    "draft_kv": "KV of the head",
    "compute": "compute",
    "draft_compute": "compute of the head",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """The memory that servers compute in."""

    name: str
    """``the card``, ``memory``."""
    on_card: bool
    total: int | None
    """Bytes; ``None``, also of ``free``: not told."""
    free: int | None

    @property
    def margin(self) -> int:
        """Bytes that must stay free for what no server counts."""
        return DEVICE_MARGIN if self.on_card else 0

    def taken(self, needed: Footprint) -> int:
        """Bytes that a server takes of it."""
        return needed.device if self.on_card else needed.whole.total


def fits(name: str, header: Header, spec: ServerSpec, room: Room) -> Finding:
    """Whether the server called ``name`` fits; a server too large for the memory says what would fit."""
    needed = footprint(header, spec)
    taken = room.taken(needed) + room.margin
    said = f"{name}, ctx {spec.ctx}: {memory_amount(room.taken(needed))} of {room.name} ({_in_parts(needed, room)})"
    if room.total is not None and taken > room.total:
        beside = f" with {memory_amount(room.margin)} left to the driver" if room.margin else ""
        short = f"{said}; there are {memory_amount(room.total)}{beside}"
        return Finding(State.LACK, "memory", f"{short}. {_mend(header, spec, room)}")
    if room.free is not None and taken > room.free:
        return Finding(State.NOTE, "memory", f"{said}; only {memory_amount(room.free)} are free now")
    return Finding(State.HAVE, "memory", said)


def largest_ctx(header: Header, spec: ServerSpec, room: Room) -> int | None:
    """The largest context up to the asked one, in steps of 1024, with which it fits; ``None``: with none."""
    low, high = 0, spec.ctx // _CTX_STEP
    while low < high:
        middle = (low + high + 1) // 2
        needed = footprint(header, replace(spec, ctx=middle * _CTX_STEP))
        if room.taken(needed) + room.margin <= (room.total or 0):
            low = middle
        else:
            high = middle - 1
    return low * _CTX_STEP or None


def _in_parts(needed: Footprint, room: Room) -> str:
    places: dict[str, Place] = {said: getattr(needed, part) for part, said in _PARTS.items()}
    sizes = {said: place.device if room.on_card else place.total for said, place in places.items()}
    return ", ".join(f"{said} {memory_amount(size)}" for said, size in sizes.items() if size >= _SHOWN)


def _mend(header: Header, spec: ServerSpec, room: Room) -> str:
    fitting = largest_ctx(header, spec, room)
    if fitting is not None:
        return f"It fits with --mtp-set server.ctx={fitting}, or with a smaller cache type."
    fewer = ", or fewer layers on the card (--mtp-set server.gpu_layers=N)" if room.on_card else ""
    return f"It fits with no context: take a smaller quantization{fewer}."
