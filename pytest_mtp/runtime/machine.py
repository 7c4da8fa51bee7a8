"""What this machine is: the facts of its fingerprint, and the memory that it has."""

import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.card import memory_of
from pytest_mtp.core.fingerprint import Fingerprint, card_facts
from pytest_mtp.core.platform_support import platform_sentence
from pytest_mtp.errors import SettingsError
from pytest_mtp.runtime.cards import measured_cards

_ANSWER_S = 10.0


def fingerprint(backend: Backend, gpu_id: str | None = None, flags: Sequence[str] = ()) -> Fingerprint:
    """The facts that make machines alike: processor and cores, and the cards where some are used.

    ``flags`` are the profile's own, which can split a model over all cards. SettingsError where the backend has no
    card here, ``gpu_id`` names none, or nothing can be measured on this system.
    """
    import psutil

    from pytest_mtp.runtime.cpu import cpu_flags

    if (sentence := platform_sentence(platform.system(), backend)) is not None:
        raise SettingsError(sentence)
    facts = {
        "system": platform.system(),
        "arch": platform.machine(),
        "cpu": _cpu_name(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "memory_gib": str(round(psutil.virtual_memory().total / 2**30)),
        "instruction_sets": " ".join(sorted(flag for flag in cpu_flags() if flag.startswith(("avx", "fma", "amx")))),
        "backend": backend.value,
    }
    if backend is Backend.METAL:
        facts["gpu"] = facts["cpu"]  # one chip, and macOS tells no more of its card
    return Fingerprint(facts | gpu_facts(backend, gpu_id, flags))


def gpu_facts(backend: Backend = Backend.CUDA, gpu_id: str | None = None, flags: Sequence[str] = ()) -> dict[str, str]:
    """The facts of the cards that servers with these flags will use; SettingsError as for ``fingerprint``."""
    return card_facts(measured_cards(backend, gpu_id, flags))


def memory(backend: Backend, gpu_id: str | None = None, flags: Sequence[str] = ()) -> int:
    """Bytes of the cards where some are used, else of the machine: all of them, so that it says the same tomorrow."""
    import psutil

    on_cards = memory_of(measured_cards(backend, gpu_id, flags))
    return int(psutil.virtual_memory().total) if on_cards is None else on_cards


def device(machine: Fingerprint) -> str:
    """What a measurement has to itself: the cards, or the whole processor."""
    return machine.facts.get("gpu_uuid", "cpu")


def devices(machine: Fingerprint) -> tuple[str, ...]:
    """The same, one by one and sorted: locked in this order, two runs on several cards never wait for each other."""
    return tuple(sorted(device(machine).split(" + ")))


def _cpu_name() -> str:
    if platform.system() == "Darwin":
        return _apple_chip()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def _apple_chip() -> str:
    command = ("sysctl", "-n", "machdep.cpu.brand_string")
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_ANSWER_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return platform.processor() or "unknown"
    return answer.stdout.strip() or "unknown"
