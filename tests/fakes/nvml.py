"""A driver of NVIDIA's that says what a test wants: the functions of pynvml that are used, over dictionaries."""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any


class NVMLError(Exception):
    """As pynvml raises it for everything that a card or a driver refuses."""


RTX_3090: dict[str, Any] = {
    "UUID": "GPU-3090aaaa",
    "Name": "NVIDIA GeForce RTX 3090",
    "MemoryInfo": SimpleNamespace(total=24 * 2**30, free=23 * 2**30, used=2**30),
    "PowerManagementLimit": 350_000,
    "PowerManagementDefaultLimit": 350_000,
    "PersistenceMode": 1,
    "PciInfo": SimpleNamespace(busId="00000000:01:00.0"),
    "MemoryBusWidth": 384,
    "MaxClockInfo": {1: 2100, 2: 9751},
    "CudaComputeCapability": (8, 6),
    "MaxPcieLinkGeneration": 4,
    "MaxPcieLinkWidth": 16,
    "UtilizationRates": SimpleNamespace(gpu=97, memory=80),
    "Temperature": {0: 63},
    "PowerUsage": 301_500,
    "TotalEnergyConsumption": 5_000_000,
    "ClockInfo": {1: 1695, 2: 9501},
    "CurrentClocksEventReasons": 0x4,
    "ComputeRunningProcesses": [],
}
"""What such a card tells: no application clocks, no ECC."""


@dataclass
class FakeNvml:
    """The module; a value that a card lacks raises, as does everything when ``driver`` is ``None``."""

    cards: list[dict[str, Any]] = field(default_factory=lambda: [dict(RTX_3090)])
    driver: str | None = "570.86.15"
    names: dict[int, str] = field(default_factory=dict)
    may_lock: bool = True
    locked: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The clocks of the cards that are locked at the moment."""
    open: int = 0
    """How often it was initialized more than shut down."""

    NVMLError = NVMLError
    NVML_CLOCK_SM = 1
    NVML_CLOCK_MEM = 2
    NVML_TEMPERATURE_GPU = 0

    def nvmlInit(self) -> None:
        if self.driver is None:
            raise NVMLError("NVML Shared Library Not Found")
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlSystemGetDriverVersion(self) -> str:
        return str(self.driver)

    def nvmlDeviceGetCount(self) -> int:
        return len(self.cards)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> dict[str, Any]:
        return self.cards[index]

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> dict[str, Any]:
        for card in self.cards:
            if card["UUID"] == uuid:
                return card
        raise NVMLError("Not Found")

    def nvmlSystemGetProcessName(self, pid: int) -> str:
        if pid not in self.names:
            raise NVMLError("Not Found")
        return self.names[pid]

    def nvmlDeviceSetGpuLockedClocks(self, handle: dict[str, Any], low: int, high: int) -> None:
        if not self.may_lock:
            raise NVMLError("Insufficient Permissions")
        self.locked[handle["UUID"]] = (low, high)

    def nvmlDeviceResetGpuLockedClocks(self, handle: dict[str, Any]) -> None:
        self.locked.pop(handle["UUID"], None)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        fact = name.removeprefix("nvmlDeviceGet")
        if fact == name:
            raise AttributeError(name)

        def get(handle: dict[str, Any], kind: int | None = None) -> Any:
            if self.open < 1:
                raise NVMLError("Uninitialized")
            value = handle.get(fact)
            value = value.get(kind) if isinstance(value, dict) else value
            if value is None:
                raise NVMLError("Not Supported")
            return value

        return get
