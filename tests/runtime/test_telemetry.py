"""Readings of fake cards, and the thread that takes them while requests run."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_mtp import runtime
from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.card import Card, CardProcess
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.telemetry import OPTIONAL_READINGS, Reading, TelemetrySource, Throttle
from pytest_mtp.runtime.cards import cards
from pytest_mtp.runtime.telemetry import watch_of
from pytest_mtp.runtime.telemetry.absent import Absent
from pytest_mtp.runtime.telemetry.nvml import NvmlWatcher
from pytest_mtp.runtime.telemetry.sampler import sampled
from pytest_mtp.runtime.telemetry.sysfs import SysfsWatcher
from tests.fakes.amdgpu import RX_7900, add_card
from tests.fakes.nvml import RTX_3090, FakeNvml

CARD = Card(index=0, uuid="GPU-3090aaaa", name="NVIDIA GeForce RTX 3090")
OURS, THEIRS = 11, 4242
_RUNTIME = Path(runtime.__path__[0])


def running(*pids: int) -> dict[str, Any]:
    return RTX_3090 | {"ComputeRunningProcesses": [SimpleNamespace(pid=pid, usedGpuMemory=2**30) for pid in pids]}


def nvml_reading(nvml: FakeNvml, own: frozenset[int] = frozenset({OURS})) -> Reading:
    with NvmlWatcher([CARD], nvml) as watcher:
        return watcher.read(own)


def test_a_card_of_nvidia_tells_everything_but_mapped_memory() -> None:
    nvml = FakeNvml()
    assert nvml_reading(nvml) == Reading(
        temperature_c=63,
        power_w=301.5,
        energy_counter_j=5000,
        sm_clock_mhz=1695,
        memory_clock_mhz=9501,
        utilization=0.97,
        memory_used_bytes=2**30,
        throttle=frozenset({Throttle.POWER_CAP}),
        foreign=(),
    )
    assert nvml.open == 0


def test_the_real_binding_has_every_name_that_is_used() -> None:
    import pynvml

    sources = [*_RUNTIME.glob("*.py"), *_RUNTIME.glob("telemetry/*.py")]
    names = {name for path in sources for name in re.findall(r"nvml\.(nvml\w+|NVML\w+)", path.read_text("utf-8"))}
    assert "nvmlDeviceGetTotalEnergyConsumption" in names
    assert [name for name in sorted(names) if not hasattr(pynvml, name)] == []


@pytest.mark.parametrize(
    ("fact", "reading"),
    [
        ("Temperature", "temperature_c"),
        ("PowerUsage", "power_w"),
        ("TotalEnergyConsumption", "energy_counter_j"),
        ("ClockInfo", "sm_clock_mhz"),
        ("UtilizationRates", "utilization"),
        ("MemoryInfo", "memory_used_bytes"),
        ("CurrentClocksEventReasons", "throttle"),
        ("ComputeRunningProcesses", "foreign"),
    ],
)
def test_what_a_card_refuses_is_none_and_the_rest_is_told(fact: str, reading: str) -> None:
    told = nvml_reading(FakeNvml([RTX_3090 | {fact: None}]))
    assert getattr(told, reading) is None
    assert told.power_w == 301.5 or reading == "power_w"


def test_older_drivers_are_asked_for_their_reasons_by_the_former_name() -> None:
    old = RTX_3090 | {"CurrentClocksEventReasons": None, "CurrentClocksThrottleReasons": 0x8 | 0x40}
    assert nvml_reading(FakeNvml([old])).throttle == frozenset({Throttle.HARDWARE_SLOWDOWN, Throttle.HARDWARE_THERMAL})


def test_a_process_that_is_none_of_ours_is_named() -> None:
    nvml = FakeNvml([running(OURS, THEIRS)], names={THEIRS: "/usr/bin/python3"})
    assert nvml_reading(nvml).foreign == (CardProcess(THEIRS, "python3", 2**30),)


def test_numbers_of_another_namespace_tell_nothing_about_whose_a_process_is() -> None:
    assert nvml_reading(FakeNvml([running(THEIRS)])).foreign is None
    assert nvml_reading(FakeNvml([running(THEIRS)]), frozenset()).foreign == (CardProcess(THEIRS, "unknown", 2**30),)


def test_a_card_of_amd_tells_what_the_kernel_tells(tmp_path: Path) -> None:
    add_card(tmp_path, 1, "0000:03:00.0", RX_7900)
    with SysfsWatcher(cards(Backend.HIP, sysfs=tmp_path), tmp_path) as watcher:
        assert watcher.read(frozenset()) == Reading(
            temperature_c=61,
            power_w=287,
            sm_clock_mhz=2371,
            memory_clock_mhz=1249,
            utilization=0.98,
            memory_used_bytes=18 * 2**30,
            gtt_used_bytes=200 * 2**20,
        )


@pytest.mark.parametrize("lacking", sorted(set(RX_7900) - {"vendor", "mem_info_vram_total"}))
def test_a_file_that_the_kernel_lacks_is_none_and_no_error(tmp_path: Path, lacking: str) -> None:
    add_card(tmp_path, 1, "0000:03:00.0", {name: content for name, content in RX_7900.items() if name != lacking})
    with SysfsWatcher(cards(Backend.HIP, sysfs=tmp_path), tmp_path) as watcher:
        assert watcher.read(frozenset()).memory_clock_mhz == (None if lacking == "pp_dpm_mclk" else 1249)


def test_mapped_memory_is_where_a_model_belongs_on_integrated_graphics(tmp_path: Path) -> None:
    add_card(tmp_path, 1, "0000:c4:00.0", RX_7900 | {"mem_info_vram_total": str(2**29), "mem_info_vram_used": "5"})
    with SysfsWatcher(cards(Backend.HIP, sysfs=tmp_path), tmp_path) as watcher:
        told = watcher.read(frozenset())
    assert (told.memory_used_bytes, told.gtt_used_bytes) == (5 + 200 * 2**20, None)


class Scripted:
    """A watcher that gives the readings in turn, the last one for ever; an exception among them is raised."""

    source = TelemetrySource.NVML
    identity = "scripted"

    def __init__(self, *readings: Reading | Exception) -> None:
        self._readings = list(readings)
        self.looks = 0
        self.enough = threading.Event()

    def __enter__(self) -> "Scripted":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was opened."""

    def read(self, own_pids: frozenset[int]) -> Reading:
        assert os.getpid() in own_pids
        self.looks += 1
        if self.looks >= 5:
            self.enough.set()
        one = self._readings.pop(0) if len(self._readings) > 1 else self._readings[0]
        if isinstance(one, Exception):
            raise one
        return one


BOTH = dict.fromkeys(Arm, os.getpid())
NEVER_S = 3600.0


def test_the_thread_looks_while_a_request_runs() -> None:
    watcher = Scripted(Reading(power_w=100))
    with sampled(lambda: watcher, BOTH, interval_s=0.001) as sampler, sampler.during(Arm.MTP):
        assert watcher.enough.wait(30)
    assert sampler.telemetry(Arm.MTP).looks >= 3
    assert sampler.telemetry(Arm.PLAIN).looks == 0


def test_readings_belong_to_the_arm_that_is_asked() -> None:
    watcher = Scripted(Reading(sm_clock_mhz=1), Reading(sm_clock_mhz=1700), Reading(sm_clock_mhz=2))
    with sampled(lambda: watcher, BOTH, NEVER_S) as sampler:
        sampler.look()  # nobody is asked: no look
        with sampler.during(Arm.PLAIN):
            sampler.look()
        with sampler.during(Arm.MTP):
            pass
        sampler.look()
        plain, mtp = sampler.telemetry(Arm.PLAIN), sampler.telemetry(Arm.MTP)
    assert (watcher.looks, plain.sm_clock_mhz, mtp.sm_clock_mhz) == (5, 1700, None)
    assert [one.sm_clock_mhz for one in mtp.readings] == [2, 2]


def test_energy_is_the_power_over_the_time_on_the_clock() -> None:
    times = iter([0.0, 10.0, 11.0, 12.0])
    watcher = Scripted(Reading(power_w=200), Reading(power_w=300), Reading(power_w=200))
    with sampled(lambda: watcher, BOTH, NEVER_S, clock=lambda: next(times)) as sampler:
        with sampler.during(Arm.MTP):
            sampler.look()
        assert sampler.telemetry(Arm.MTP).energy_j == pytest.approx(500)


def test_a_look_that_fails_is_counted_and_ends_nothing() -> None:
    watcher = Scripted(Reading(power_w=1), RuntimeError("the driver is lost"), Reading(power_w=2))
    with sampled(lambda: watcher, BOTH, NEVER_S) as sampler:
        with sampler.during(Arm.MTP):
            sampler.look()
        told = sampler.telemetry(Arm.MTP)
    assert (told.failed_reads, [one.power_w for one in told.readings]) == (1, [1, None, 2])
    assert "power_w" not in told.lacking


def test_the_memory_of_the_server_is_known_without_any_card() -> None:
    with sampled(Absent, BOTH, NEVER_S) as sampler:
        with sampler.during(Arm.PLAIN):
            pass
        told = sampler.telemetry(Arm.PLAIN)
    assert told.source is TelemetrySource.NONE
    assert told.rss_bytes is not None
    assert told.rss_bytes.peak > 2**20
    assert set(told.lacking) == set(OPTIONAL_READINGS) - {"rss_bytes"}


def test_a_watcher_that_cannot_be_had_leaves_the_measurement_alone() -> None:
    def lost() -> NvmlWatcher:
        return NvmlWatcher([CARD], FakeNvml([]))

    with sampled(lost, BOTH, NEVER_S) as sampler, sampler.during(Arm.PLAIN):
        pass
    assert sampler.telemetry(Arm.PLAIN).source is TelemetrySource.NONE


def test_a_server_that_is_gone_has_no_memory() -> None:
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    pids = {Arm.PLAIN: int(gone.stdout)}
    with sampled(Absent, pids, NEVER_S) as sampler, sampler.during(Arm.PLAIN):
        pass
    assert sampler.telemetry(Arm.PLAIN).rss_bytes is None


def test_a_child_of_a_server_is_no_foreign_process() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        seen = (CardProcess(child.pid, "child"), CardProcess(1, "init"))
        with sampled(lambda: Scripted(Reading(foreign=seen)), BOTH, NEVER_S) as sampler:
            with sampler.during(Arm.PLAIN):
                pass
            told = sampler.telemetry(Arm.PLAIN)
        child.communicate(b"\n")
    assert told.foreign == (CardProcess(1, "init"),)


def test_without_a_card_or_a_source_nobody_watches() -> None:
    assert watch_of(TelemetrySource.NONE, [CARD]) is Absent
    assert watch_of(TelemetrySource.NVML, []) is Absent
