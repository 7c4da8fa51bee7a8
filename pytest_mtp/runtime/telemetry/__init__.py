"""What can be read of the cards while they are measured: one module per source."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from pytest_mtp.core.card import Card
from pytest_mtp.core.telemetry import TelemetrySource
from pytest_mtp.runtime.telemetry.absent import Absent
from pytest_mtp.runtime.telemetry.protocol import Watch, Watcher

__all__ = ["Watch", "Watcher", "watch_of"]


def watch_of(source: TelemetrySource, cards: Sequence[Card]) -> Watch:
    """How these cards are watched: a function that opens a watcher for a ``with`` block."""
    makers: dict[TelemetrySource, Callable[[Sequence[Card]], AbstractContextManager[Watcher]]] = {
        TelemetrySource.NVML: _nvml,
        TelemetrySource.SYSFS: _sysfs,
    }
    make = makers.get(source)
    return Absent if make is None or not cards else lambda: make(cards)


def _nvml(cards: Sequence[Card]) -> AbstractContextManager[Watcher]:
    import pynvml

    from pytest_mtp.runtime.telemetry.nvml import NvmlWatcher

    return NvmlWatcher(cards, pynvml)


def _sysfs(cards: Sequence[Card]) -> AbstractContextManager[Watcher]:
    from pytest_mtp.runtime.telemetry.sysfs import SysfsWatcher

    return SysfsWatcher(cards)
