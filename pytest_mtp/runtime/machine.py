"""What this machine is: the facts of its fingerprint, and the memory that is free."""

import os
import platform
from collections.abc import Callable
from pathlib import Path

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.fingerprint import Fingerprint
from pytest_mtp.errors import SettingsError


def fingerprint(backend: Backend) -> Fingerprint:
    """The facts that make machines alike: processor and cores, and the card where one is used."""
    import psutil

    from pytest_mtp.runtime.cpu import cpu_flags

    facts = {
        "system": platform.system(),
        "arch": platform.machine(),
        "cpu": _cpu_name(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "memory_gib": str(round(psutil.virtual_memory().total / 2**30)),
        "instruction_sets": " ".join(sorted(flag for flag in cpu_flags() if flag.startswith(("avx", "fma", "amx")))),
        "backend": backend.value,
    }
    if backend is Backend.CUDA:
        facts |= gpu_facts()
    return Fingerprint(facts)


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def memory(backend: Backend) -> int:
    """Bytes of the card where one is used, else of the machine: all of them, so that it says the same tomorrow."""
    if backend is Backend.CUDA:
        return gpu_memory()
    import psutil

    return int(psutil.virtual_memory().total)


def device(machine: Fingerprint) -> str:
    """What a measurement has to itself: the card, or the whole processor."""
    return machine.facts.get("gpu_uuid", "cpu")


def gpu_facts() -> dict[str, str]:
    """Name, UUID, driver and power limit of the first card; SettingsError where there is none."""
    import pynvml

    with _Nvml() as card:
        return {
            "gpu": _told(lambda: pynvml.nvmlDeviceGetName(card)),
            "gpu_uuid": _told(lambda: pynvml.nvmlDeviceGetUUID(card)),
            "driver": _told(pynvml.nvmlSystemGetDriverVersion).split(".", maxsplit=1)[0],
            "power_limit_w": _told(lambda: round(pynvml.nvmlDeviceGetPowerManagementLimit(card) / 1000)),
        }


def _told(ask: Callable[[], object]) -> str:
    """One fact of the card; ``unknown`` where it does not tell."""
    import pynvml

    try:
        return str(ask())
    except pynvml.NVMLError:
        return "unknown"


def gpu_memory() -> int:
    """Total bytes of the first card; SettingsError where there is none."""
    import pynvml

    with _Nvml() as card:
        return int(pynvml.nvmlDeviceGetMemoryInfo(card).total)


class _Nvml:
    """NVML opened for one reading of the first card."""

    def __enter__(self) -> object:
        import pynvml

        try:
            pynvml.nvmlInit()
            return pynvml.nvmlDeviceGetHandleByIndex(0)
        except pynvml.NVMLError as error:
            raise SettingsError(
                f"No usable NVIDIA GPU on this machine ({error}). Run where nvidia-smi lists a card, "
                "or use --mtp, which measures the embedded profile on the CPU."
            ) from error

    def __exit__(self, *_: object) -> None:
        import pynvml

        pynvml.nvmlShutdown()
