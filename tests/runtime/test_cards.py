"""The cards of a machine, told by a fake NVML and by fake files of the kernel."""

import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.core.card import Card
from pytest_mtp.core.fingerprint import Fingerprint
from pytest_mtp.core.flags import negotiate
from pytest_mtp.core.server_spec import ServerSpec
from pytest_mtp.core.telemetry import TelemetrySource
from pytest_mtp.errors import SettingsError
from pytest_mtp.runtime.cards import cards, hold, measured_cards, telemetry_source
from pytest_mtp.runtime.machine import device, devices, fingerprint, memory
from pytest_mtp.runtime.server import serve
from tests.fakes.amdgpu import RX_7900, add_card
from tests.fakes.nvml import RTX_3090, FakeNvml


@pytest.fixture(autouse=True)
def _nothing_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GGML_VK_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)


def test_a_card_of_nvidia_is_described_whole() -> None:
    nvml = FakeNvml()
    assert cards(Backend.CUDA, nvml) == (
        Card(
            index=0,
            uuid="GPU-3090aaaa",
            name="NVIDIA GeForce RTX 3090",
            driver="570.86.15",
            memory_total_bytes=24 * 2**30,
            memory_free_bytes=23 * 2**30,
            memory_bandwidth=936_096_000_000.0,
            compute_capability=(8, 6),
            power_limit_w=350.0,
            default_power_limit_w=350.0,
            persistence=True,
            pci_address="00000000:01:00.0",
            pcie_generation=4,
            pcie_width=16,
        ),
    )
    assert nvml.open == 0


def test_a_card_of_amd_is_described_by_the_kernels_files(tmp_path: Path) -> None:
    add_card(tmp_path, 0, "0000:00:02.0", {"vendor": "0x8086"})
    add_card(tmp_path, 10, "0000:0a:00.0", RX_7900 | {"unique_id": ""})
    add_card(tmp_path, 2, "0000:03:00.0", RX_7900 | {"product_name": "Radeon RX 7900 XTX"})
    first, second = cards(Backend.HIP, sysfs=tmp_path)
    assert (first.index, first.uuid, first.name) == (0, "GPU-9f3b7c2e11aa0042", "Radeon RX 7900 XTX")
    assert (first.memory_total_bytes, first.power_limit_w, first.driver) == (24 * 2**30, 303.0, None)
    assert (second.index, second.uuid, second.name) == (1, "0000:0a:00.0", "AMD 0x744c")


def test_graphics_without_memory_of_their_own_have_that_of_the_system(tmp_path: Path) -> None:
    add_card(tmp_path, 0, "0000:c4:00.0", RX_7900 | {"mem_info_vram_total": str(2**29), "mem_info_vram_used": "0"})
    (one,) = cards(Backend.HIP, sysfs=tmp_path)
    assert one.memory_total_bytes == 2**29 + 31 * 2**30


@pytest.mark.parametrize("lacking", sorted(set(RTX_3090) - {"UUID"}))
def test_what_a_card_does_not_tell_is_none_and_no_error(lacking: str) -> None:
    (one,) = cards(Backend.CUDA, FakeNvml([{name: fact for name, fact in RTX_3090.items() if name != lacking}]))
    assert one.uuid == "GPU-3090aaaa"


@pytest.mark.parametrize(
    ("nvml", "reason"),
    [(FakeNvml(driver=None), "Shared Library Not Found"), (FakeNvml([]), "its driver lists no card")],
)
def test_a_machine_without_a_card_is_told_so(nvml: FakeNvml, reason: str) -> None:
    with pytest.raises(
        SettingsError, match=f"^No usable NVIDIA GPU on this machine .*{reason}.*nvidia-smi lists a card"
    ):
        cards(Backend.CUDA, nvml)


def test_vulkan_takes_the_card_of_either_maker(tmp_path: Path) -> None:
    without = FakeNvml(driver=None)
    assert telemetry_source(Backend.VULKAN, FakeNvml(), tmp_path) is TelemetrySource.NVML
    with pytest.raises(SettingsError, match="Not Found and no card is driven by amdgpu"):
        cards(Backend.VULKAN, without, tmp_path)
    add_card(tmp_path, 1, "0000:03:00.0", RX_7900)
    assert telemetry_source(Backend.VULKAN, without, tmp_path) is TelemetrySource.SYSFS


def test_cards_that_the_environment_hides_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    two: list[dict[str, Any]] = [RTX_3090, RTX_3090 | {"UUID": "GPU-3090bbbb"}]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert [card.uuid for card in cards(Backend.CUDA, FakeNvml(two))] == ["GPU-3090bbbb"]


@pytest.mark.parametrize(
    ("count", "gpu_id", "variable", "held"),
    [(1, None, None, False), (1, "0", None, True), (2, None, None, True), (2, None, "1", True)],
)
def test_a_server_is_held_to_its_card_wherever_it_could_see_another(
    monkeypatch: pytest.MonkeyPatch, count: int, gpu_id: str | None, variable: str | None, *, held: bool
) -> None:
    nvml = FakeNvml([RTX_3090 | {"UUID": f"GPU-{place}"} for place in range(count)])
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    if variable is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", variable)
    used = measured_cards(Backend.CUDA, gpu_id)
    assert hold(Backend.CUDA, used, gpu_id).get("CUDA_VISIBLE_DEVICES") == (used[0].uuid if held else None)
    assert memory(Backend.CUDA, gpu_id) == 24 * 2**30
    assert fingerprint(Backend.CUDA, gpu_id).facts["gpu_uuid"] == f"GPU-{variable or 0}"


@pytest.mark.parametrize("backend", [Backend.CPU, Backend.METAL])
def test_a_backend_without_cards_has_none_to_choose(backend: Backend) -> None:
    assert cards(backend) == ()
    assert telemetry_source(backend) is TelemetrySource.NONE
    assert measured_cards(backend, None) == ()
    with pytest.raises(SettingsError, match=f"the backend {backend.value} has none to choose"):
        measured_cards(backend, "0")


def test_a_cpu_measures_with_the_whole_machine() -> None:
    here = fingerprint(Backend.CPU)
    assert "gpu" not in here.facts
    assert device(here) == "cpu"
    assert memory(Backend.CPU) == psutil.virtual_memory().total


def test_cards_are_locked_one_by_one_in_the_same_order_everywhere() -> None:
    assert devices(Fingerprint({"gpu_uuid": "GPU-b + GPU-a"})) == ("GPU-a", "GPU-b")
    assert devices(Fingerprint({})) == ("cpu",)


def test_a_system_where_nothing_works_has_no_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Windows")
    with pytest.raises(SettingsError, match="WSL2"):
        fingerprint(Backend.CPU)


def test_a_server_is_held_to_its_card_by_its_environment(
    fake_binary: Path, fake_capabilities: Capabilities, tmp_path: Path
) -> None:
    spec = ServerSpec(model=str(tmp_path / "model.gguf"), ctx=512, gpu_layers=0)
    held = {"CUDA_VISIBLE_DEVICES": "GPU-3090bbbb"}
    arguments = negotiate(spec, fake_capabilities)
    with serve(fake_binary, arguments, spec, tmp_path, start_timeout_s=20, environment=held) as server:
        assert psutil.Process(server.pid).environ()["CUDA_VISIBLE_DEVICES"] == "GPU-3090bbbb"
        assert server.environment["CUDA_VISIBLE_DEVICES"] == "GPU-3090bbbb"
