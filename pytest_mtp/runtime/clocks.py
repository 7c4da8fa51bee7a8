"""Fixes the clocks of the cards while they are measured, and gives them back in every end.

Memory clocks are never touched: fixing them costs some cards a third of their speed.
"""

import atexit
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from pytest_mtp.core.card import Card, sustainable_clock_mhz
from pytest_mtp.errors import SettingsError
from pytest_mtp.runtime.telemetry.nvml import opened, told


@contextmanager
def locked(cards: Sequence[Card], nvml: Any = None) -> Iterator[int]:
    """Hold the cards at one clock that they sustain, and yield it in MHz; SettingsError where that is refused.

    They are set free when the block ends, however it ends, and at the exit of the interpreter: a caller that is
    to survive SIGTERM must turn it into an exception.
    """
    if nvml is None:
        import pynvml

        nvml = pynvml
    if not cards:
        raise SettingsError(
            "--mtp-lock-clocks needs a card, and this backend has none whose clocks can be set: drop it."
        )
    with ExitStack() as stack:
        try:
            stack.enter_context(opened(nvml))
            handles = {card: nvml.nvmlDeviceGetHandleByUUID(card.uuid) for card in cards}
        except nvml.NVMLError as error:
            raise SettingsError(
                f"--mtp-lock-clocks sets the clocks of NVIDIA cards only ({error}): drop it, or set them yourself."
            ) from error
        clock_mhz = min(_sustainable(nvml, card, handle) for card, handle in handles.items())
        for card, handle in handles.items():
            stack.enter_context(_held(nvml, card, handle, clock_mhz))
        yield clock_mhz


@contextmanager
def _held(nvml: Any, card: Card, handle: Any, clock_mhz: int) -> Iterator[None]:
    def restore() -> None:
        told(nvml, nvml.nvmlDeviceResetGpuLockedClocks, handle)

    # Registered before the clock is set: nothing may come between.
    with _at_every_end(restore):
        try:
            nvml.nvmlDeviceSetGpuLockedClocks(handle, clock_mhz, clock_mhz)
        except nvml.NVMLError as error:
            raise SettingsError(
                f"The clocks of card {card} cannot be locked ({error}). Lock them yourself with "
                f"'sudo nvidia-smi -i {card.uuid} -lgc {clock_mhz},{clock_mhz}' (-rgc sets them free) "
                "and drop --mtp-lock-clocks."
            ) from error
        yield


@contextmanager
def _at_every_end(restore: Callable[[], None]) -> Iterator[None]:
    atexit.register(restore)
    try:
        yield
    finally:
        restore()
        atexit.unregister(restore)


def _sustainable(nvml: Any, card: Card, handle: Any) -> int:
    default = told(nvml, nvml.nvmlDeviceGetDefaultApplicationsClock, handle, nvml.NVML_CLOCK_SM)
    highest = told(nvml, nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_SM)
    clock_mhz = sustainable_clock_mhz(default, highest)
    if clock_mhz is None:
        raise SettingsError(
            f"Card {card} does not tell its clocks, so --mtp-lock-clocks cannot choose one: drop it, or lock one "
            f"yourself with 'sudo nvidia-smi -i {card.uuid} -lgc MHZ,MHZ'."
        )
    return clock_mhz
