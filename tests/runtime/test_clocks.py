"""Clocks are locked while a block of code runs, and set free in every end."""

import subprocess
import sys

import pytest

from pytest_mtp.core.card import Card
from pytest_mtp.errors import SettingsError
from pytest_mtp.runtime.clocks import locked
from tests.fakes.nvml import RTX_3090, FakeNvml

CARD = Card(index=0, uuid="GPU-3090aaaa", name="NVIDIA GeForce RTX 3090")
OTHER = Card(index=1, uuid="GPU-b", name="NVIDIA H200")


def test_clocks_are_locked_to_what_the_card_sustains_and_set_free_after() -> None:
    nvml = FakeNvml()
    with locked([CARD], nvml) as clock_mhz:
        assert clock_mhz == 1400  # two thirds of 2100
        assert nvml.locked == {"GPU-3090aaaa": (1400, 1400)}
    assert nvml.locked == {}
    assert nvml.open == 0


def test_several_cards_are_locked_to_the_clock_that_all_sustain() -> None:
    h200 = RTX_3090 | {"UUID": "GPU-b", "DefaultApplicationsClock": {1: 1980}, "MaxClockInfo": {1: 1980}}
    nvml = FakeNvml([dict(RTX_3090), h200])
    with locked([CARD, OTHER], nvml):
        assert nvml.locked == {"GPU-3090aaaa": (1400, 1400), "GPU-b": (1400, 1400)}
    assert nvml.locked == {}


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit, ValueError])
def test_clocks_are_set_free_whatever_ends_the_measurement(end: type[BaseException]) -> None:
    nvml = FakeNvml()
    with pytest.raises(end), locked([CARD], nvml):
        raise end
    assert nvml.locked == {}


_ENDS_EARLY = """
import ctypes
import sys
from tests.fakes.nvml import FakeNvml
from tests.runtime.test_clocks import CARD
from pytest_mtp.runtime.clocks import locked

class Telling(FakeNvml):
    def nvmlDeviceResetGpuLockedClocks(self, handle):
        print("free", flush=True)

held = locked([CARD], Telling())
held.__enter__()
ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))  # never left and never collected
sys.exit(3)
"""


def test_clocks_are_set_free_at_the_exit_of_the_interpreter() -> None:
    ended = subprocess.run([sys.executable, "-c", _ENDS_EARLY], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.split()[:1]) == (3, ["free"])


def test_a_user_who_may_not_lock_is_told_the_command_that_does() -> None:
    nvml = FakeNvml(may_lock=False)
    with (
        pytest.raises(SettingsError, match="sudo nvidia-smi -i GPU-3090aaaa -lgc 1400,1400"),
        locked([CARD], nvml),
    ):
        pytest.fail("nothing may be measured")
    assert nvml.open == 0


@pytest.mark.parametrize(
    ("cards", "nvml", "said"),
    [
        ([], FakeNvml(), "needs a card"),
        ([CARD], FakeNvml(driver=None), "NVIDIA cards only"),
        ([OTHER], FakeNvml(), "NVIDIA cards only"),
        ([CARD], FakeNvml([RTX_3090 | {"MaxClockInfo": None}]), "does not tell its clocks"),
    ],
)
def test_what_cannot_be_locked_is_refused_in_a_sentence(cards: list[Card], nvml: FakeNvml, said: str) -> None:
    with pytest.raises(SettingsError, match=said), locked(cards, nvml):
        pytest.fail("nothing may be measured")
