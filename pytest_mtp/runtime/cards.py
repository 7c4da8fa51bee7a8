"""Finds the cards that a backend can compute on, and what of them can be watched."""

import os
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.card import Card, bandwidth, card_environment, measured, visible
from pytest_mtp.core.telemetry import TelemetrySource
from pytest_mtp.errors import SettingsError
from pytest_mtp.runtime.telemetry.nvml import opened, told
from pytest_mtp.runtime.telemetry.sysfs import SYSFS, amd_card, amd_devices, text

# What a user hides cards with; the first that is set counts.
_VARIABLES = MappingProxyType(
    {
        Backend.CUDA: ("CUDA_VISIBLE_DEVICES",),
        Backend.HIP: ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"),
        Backend.VULKAN: ("GGML_VK_VISIBLE_DEVICES",),
    }
)


def cards(backend: Backend, nvml: Any = None, sysfs: Path = SYSFS) -> tuple[Card, ...]:
    """The cards of this machine that the backend can compute on and the environment does not hide.

    Empty for the CPU and for Metal, whose card is the processor's; else SettingsError where there is none.
    """
    return _found(backend, nvml, sysfs)[1]


def telemetry_source(backend: Backend, nvml: Any = None, sysfs: Path = SYSFS) -> TelemetrySource:
    """Who tells about the cards of this backend."""
    return _found(backend, nvml, sysfs)[0]


def measured_cards(backend: Backend, gpu_id: str | None, flags: Sequence[str] = ()) -> tuple[Card, ...]:
    """The cards that servers with these flags will use; SettingsError where ``gpu_id`` names none."""
    there = cards(backend)
    if not there and gpu_id is not None:
        raise SettingsError(
            f"--mtp-gpu-id {gpu_id} chooses a card, and the backend {backend.value} has none to choose."
        )
    return measured(there, gpu_id, flags) if there else ()


def hold(backend: Backend, used: Sequence[Card], gpu_id: str | None) -> dict[str, str]:
    """The variables that hold a server to the cards in use; empty where it sees just those by itself."""
    hidden = any(variable in os.environ for variable in _VARIABLES.get(backend, ()))
    alone = gpu_id is None and not hidden and len(used) == len(cards(backend))
    return {} if alone else card_environment(used, backend)


def _found(backend: Backend, nvml: Any, sysfs: Path) -> tuple[TelemetrySource, tuple[Card, ...]]:
    if backend in (Backend.CPU, Backend.METAL):
        return TelemetrySource.NONE, ()
    reasons = []
    if backend is not Backend.HIP:
        found, reason = _nvidia_cards(nvml)
        if found:
            return TelemetrySource.NVML, _unhidden(found, backend)
        reasons.append(reason)
    if backend is not Backend.CUDA:
        found = _amd_cards(sysfs)
        if found:
            return TelemetrySource.SYSFS, _unhidden(found, backend)
        reasons.append("no card is driven by amdgpu")
    raise SettingsError(_no_card(backend, " and ".join(reasons)))


def _no_card(backend: Backend, reason: str) -> str:
    kind, tool = ("NVIDIA GPU", "nvidia-smi") if backend is Backend.CUDA else ("GPU", "rocm-smi or nvidia-smi")
    return (
        f"No usable {kind} on this machine ({reason}). Run where {tool} lists a card, "
        "or use --mtp, which measures the embedded profile on the CPU."
    )


def _unhidden(found: tuple[Card, ...], backend: Backend) -> tuple[Card, ...]:
    for variable in _VARIABLES.get(backend, ()):
        if variable in os.environ:
            return visible(found, variable, os.environ[variable])
    return found


def _nvidia_cards(nvml: Any) -> tuple[tuple[Card, ...], str]:
    """The cards of NVIDIA's driver, or why it names none."""
    if nvml is None:
        import pynvml

        nvml = pynvml
    try:
        with opened(nvml):
            driver = told(nvml, nvml.nvmlSystemGetDriverVersion)
            places = range(nvml.nvmlDeviceGetCount())
            return tuple(_nvidia_card(nvml, place, driver) for place in places), "its driver lists no card"
    except nvml.NVMLError as error:
        return (), str(error)


def _nvidia_card(nvml: Any, index: int, driver: str | None) -> Card:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    memory = told(nvml, nvml.nvmlDeviceGetMemoryInfo, handle)
    limit = told(nvml, nvml.nvmlDeviceGetPowerManagementLimit, handle)
    default_limit = told(nvml, nvml.nvmlDeviceGetPowerManagementDefaultLimit, handle)
    persistence = told(nvml, nvml.nvmlDeviceGetPersistenceMode, handle)
    bus = told(nvml, nvml.nvmlDeviceGetPciInfo, handle)
    return Card(
        index=index,
        uuid=str(nvml.nvmlDeviceGetUUID(handle)),
        name=told(nvml, nvml.nvmlDeviceGetName, handle) or "NVIDIA card",
        driver=driver,
        memory_total_bytes=None if memory is None else int(memory.total),
        memory_free_bytes=None if memory is None else int(memory.free),
        memory_bandwidth=bandwidth(
            told(nvml, nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_MEM),
            told(nvml, nvml.nvmlDeviceGetMemoryBusWidth, handle),
        ),
        compute_capability=_pair(told(nvml, nvml.nvmlDeviceGetCudaComputeCapability, handle)),
        power_limit_w=None if limit is None else limit / 1000,
        default_power_limit_w=None if default_limit is None else default_limit / 1000,
        persistence=None if persistence is None else bool(persistence),
        pci_address=None if bus is None else str(bus.busId),
        pcie_generation=told(nvml, nvml.nvmlDeviceGetMaxPcieLinkGeneration, handle),
        pcie_width=told(nvml, nvml.nvmlDeviceGetMaxPcieLinkWidth, handle),
    )


def _pair(numbers: Sequence[int] | None) -> tuple[int, int] | None:
    return None if numbers is None else (int(numbers[0]), int(numbers[1]))


def _amd_cards(root: Path) -> tuple[Card, ...]:
    driver = text(root / "module/amdgpu/version")  # none with the driver of the kernel itself
    return tuple(amd_card(device, index, driver) for index, device in enumerate(amd_devices(root)))
