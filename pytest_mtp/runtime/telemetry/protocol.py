"""What every source of telemetry can be asked."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias

from pytest_mtp.core.telemetry import Reading, TelemetrySource


class Watcher(Protocol):
    """Looks at the cards in use; what a card does not tell is ``None``, and no look raises for it."""

    @property
    def source(self) -> TelemetrySource:
        """Who is asked."""

    @property
    def identity(self) -> str:
        """The cards that are looked at, by their UUIDs."""

    def read(self, own_pids: frozenset[int]) -> Reading:
        """One look; processes of ``own_pids`` are not foreign. Time and host memory are the caller's to add."""


Watch: TypeAlias = Callable[[], AbstractContextManager[Watcher]]
"""Opens a watcher for a ``with`` block."""
