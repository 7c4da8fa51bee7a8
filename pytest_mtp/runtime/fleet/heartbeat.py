"""How long a box has been silent, by a clock that neither jumps nor counts the sleep of a laptop."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Heartbeats:
    """What earlier looks saw: the scheduler's stamp of each box changes with every heartbeat, and says no more."""

    clock: Callable[[], float] = time.monotonic
    _stamps: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By address: the last stamp, and when it was seen first."""

    def silences(self, seen: Iterable[Mapping[str, Any]]) -> Mapping[str, float]:
        """Seconds by address, of the boxes that the scheduler tells of."""
        at, before = self.clock(), self._stamps
        self._stamps = {one["address"]: _since(one["last_seen"], before.get(one["address"]), at) for one in seen}
        return {address: at - since for address, (_, since) in self._stamps.items()}


def _since(stamp: float, before: tuple[float, float] | None, at: float) -> tuple[float, float]:
    return before if before is not None and before[0] == stamp else (stamp, at)
