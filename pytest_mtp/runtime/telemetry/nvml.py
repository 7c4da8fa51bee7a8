"""NVIDIA's cards through NVML; the module that speaks it is a parameter, so that a test can be the driver."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import MappingProxyType
from typing import Any, TypeVar

from pytest_mtp.core.card import Card, CardProcess
from pytest_mtp.core.telemetry import Reading, TelemetrySource, Throttle, combined

T = TypeVar("T")

# The bits of nvmlClocksEventReasons.
_REASONS = MappingProxyType(
    {
        0x1: Throttle.IDLE,
        0x2: Throttle.APPLICATION_CLOCKS,
        0x4: Throttle.POWER_CAP,
        0x8: Throttle.HARDWARE_SLOWDOWN,
        0x10: Throttle.SYNC_BOOST,
        0x20: Throttle.THERMAL,
        0x40: Throttle.HARDWARE_THERMAL,
        0x80: Throttle.POWER_BRAKE,
        0x100: Throttle.DISPLAY_CLOCKS,
        0x200: Throttle.BOARD_LIMIT,
        0x400: Throttle.RELIABILITY,
    }
)


@contextmanager
def opened(nvml: Any) -> Iterator[None]:
    """NVML for the ``with`` block; ``nvml.NVMLError`` where there is no driver."""
    nvml.nvmlInit()
    try:
        yield
    finally:
        told(nvml, nvml.nvmlShutdown)


def told(nvml: Any, ask: Callable[..., T], *arguments: object) -> T | None:
    """One answer; ``None`` where card, driver or rights do not give it."""
    try:
        return ask(*arguments)
    except nvml.NVMLError:
        return None


class NvmlWatcher:
    """Watches cards through NVML, one look at all of them."""

    source = TelemetrySource.NVML

    def __init__(self, cards: Sequence[Card], nvml: Any) -> None:
        self.identity = " + ".join(card.uuid for card in cards)
        self._cards = tuple(cards)
        self._nvml = nvml
        self._handles: tuple[Any, ...] = ()
        self._stack = ExitStack()

    def __enter__(self) -> "NvmlWatcher":
        with ExitStack() as stack:
            stack.enter_context(opened(self._nvml))
            self._handles = tuple(self._nvml.nvmlDeviceGetHandleByUUID(card.uuid) for card in self._cards)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def read(self, own_pids: frozenset[int]) -> Reading:
        """One look at all cards together."""
        return combined([self._read(handle, own_pids) for handle in self._handles])

    def _read(self, handle: Any, own_pids: frozenset[int]) -> Reading:
        nvml = self._nvml
        busy = told(nvml, nvml.nvmlDeviceGetUtilizationRates, handle)
        memory = told(nvml, nvml.nvmlDeviceGetMemoryInfo, handle)
        return Reading(
            temperature_c=told(nvml, nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU),
            power_w=_in_thousands(told(nvml, nvml.nvmlDeviceGetPowerUsage, handle)),
            energy_counter_j=_in_thousands(told(nvml, nvml.nvmlDeviceGetTotalEnergyConsumption, handle)),
            sm_clock_mhz=told(nvml, nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM),
            memory_clock_mhz=told(nvml, nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_MEM),
            utilization=None if busy is None else busy.gpu / 100,
            memory_used_bytes=None if memory is None else int(memory.used),
            throttle=self._throttle(handle),
            foreign=self._foreign(handle, own_pids),
        )

    def _throttle(self, handle: Any) -> frozenset[Throttle] | None:
        nvml = self._nvml
        bits = told(nvml, nvml.nvmlDeviceGetCurrentClocksEventReasons, handle)
        if bits is None:  # drivers before 535 know it by its former name only
            bits = told(nvml, nvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle)
        return None if bits is None else frozenset(reason for bit, reason in _REASONS.items() if bits & bit)

    def _foreign(self, handle: Any, own_pids: frozenset[int]) -> tuple[CardProcess, ...] | None:
        nvml = self._nvml
        running = told(nvml, nvml.nvmlDeviceGetComputeRunningProcesses, handle)
        if running is None:
            return None
        others = [one for one in running if one.pid not in own_pids]
        if own_pids and others and len(others) == len(running):
            # Our server computes here and is not listed by its number: the numbers are those of another namespace,
            # as in a container, and which of them is ours cannot be told.
            return None
        return tuple(CardProcess(one.pid, self._name(one.pid), one.usedGpuMemory) for one in others)

    def _name(self, pid: int) -> str:
        name = told(self._nvml, self._nvml.nvmlSystemGetProcessName, pid)
        return str(name).rpartition("/")[2] if name else "unknown"


def _in_thousands(value: int | None) -> float | None:
    """Watts of milliwatts, joules of millijoules."""
    return None if value is None else value / 1000
