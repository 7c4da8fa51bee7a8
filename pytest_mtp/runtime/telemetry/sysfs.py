"""AMD's cards through the files of the kernel's amdgpu driver; no library and no rights are needed.

Below ``/sys/class/drm/cardN/device``: ``mem_info_vram_{total,used}``, ``mem_info_gtt_used``,
``gpu_busy_percent``, ``pp_dpm_{sclk,mclk}`` (a list, the clock in force marked by ``*``), and
``hwmon/hwmonN/{temp1_input,power1_average,power1_cap,energy1_input}`` (thousandths of a degree, millionths of a
watt and joule). Reasons for a low clock and the processes on a card are not among them.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from pytest_mtp.core.card import Card
from pytest_mtp.core.telemetry import Reading, TelemetrySource, combined

SYSFS = Path("/sys")
_AMD = "0x1002"
# Integrated graphics reserve at most a few GiB as their own and take the rest from the system as mapped memory.
_SMALLEST_CARD = 4 * 2**30


class SysfsWatcher:
    """Watches cards through the kernel's files."""

    source = TelemetrySource.SYSFS

    def __init__(self, cards: Sequence[Card], root: Path = SYSFS) -> None:
        self.identity = " + ".join(card.uuid for card in cards)
        found = amd_devices(root)
        self._devices = [found[card.index] for card in cards if card.index < len(found)]

    def __enter__(self) -> "SysfsWatcher":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is kept open."""

    def read(self, own_pids: frozenset[int]) -> Reading:
        """One look at all cards together."""
        return combined([_read(device) for device in self._devices])


def amd_devices(root: Path = SYSFS) -> list[Path]:
    """The folders of the cards that amdgpu drives, in the order of their numbers."""
    cards = [path for path in (root / "class/drm").glob("card*") if re.fullmatch(r"card\d+", path.name)]
    devices = [path / "device" for path in sorted(cards, key=lambda path: int(path.name.removeprefix("card")))]
    return [one for one in devices if text(one / "vendor") == _AMD and (one / "mem_info_vram_total").exists()]


def amd_card(device: Path, index: int, driver: str | None) -> Card:
    """One card as the kernel describes it."""
    number, monitor, address = text(device / "unique_id"), _monitor(device), device.resolve().name
    model = text(device / "product_name") or f"AMD {text(device / 'device') or 'card'}"
    width = count(device / "current_link_width")
    return Card(
        index=index,
        uuid=f"GPU-{number}" if number else address,
        name=model,
        driver=driver,
        memory_total_bytes=_memory(device, "total"),
        memory_free_bytes=_difference(_memory(device, "total"), _memory(device, "used")),
        power_limit_w=_watts(monitor, "power1_cap"),
        default_power_limit_w=_watts(monitor, "power1_cap_default"),
        pci_address=address,
        pcie_width=width,
    )


def text(path: Path) -> str | None:
    """The stripped text of one of the kernel's files; ``None`` where it is missing, empty or refuses."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:  # a sleeping card refuses with EBUSY or EPERM
        return None


def count(path: Path) -> int | None:
    """The number in one of the kernel's files; ``None`` where there is none."""
    written = text(path)
    return int(written) if written is not None and re.fullmatch(r"-?\d+", written) else None


def _read(device: Path) -> Reading:
    monitor, busy = _monitor(device), count(device / "gpu_busy_percent")
    return Reading(
        temperature_c=_scaled(monitor, "temp1_input", 1000),
        power_w=_watts(monitor, "power1_average", "power1_input"),
        energy_counter_j=_scaled(monitor, "energy1_input", 1_000_000),
        sm_clock_mhz=_clock_mhz(device / "pp_dpm_sclk"),
        memory_clock_mhz=_clock_mhz(device / "pp_dpm_mclk"),
        utilization=None if busy is None else busy / 100,
        memory_used_bytes=_memory(device, "used"),
        # Where all memory is the system's, mapped memory is where a model belongs.
        gtt_used_bytes=None if _integrated(device) else count(device / "mem_info_gtt_used"),
    )


def _integrated(device: Path) -> bool:
    own = count(device / "mem_info_vram_total")
    return own is not None and own < _SMALLEST_CARD


def _memory(device: Path, kind: str) -> int | None:
    own, mapped = count(device / f"mem_info_vram_{kind}"), count(device / f"mem_info_gtt_{kind}")
    return own + mapped if own is not None and mapped is not None and _integrated(device) else own


def _monitor(device: Path) -> Path:
    return next(iter(sorted((device / "hwmon").glob("hwmon*"))), device / "hwmon")


def _watts(monitor: Path, *names: str) -> float | None:
    return next((watts for name in names if (watts := _scaled(monitor, name, 1_000_000)) is not None), None)


def _scaled(monitor: Path, name: str, unit: int) -> float | None:
    value = count(monitor / name)
    return None if value is None else value / unit


def _clock_mhz(path: Path) -> float | None:
    """The clock marked as in force in lines like ``1: 1200Mhz *``."""
    match = re.search(r"^\S+: *(\d+) *M[Hh]z *\*", text(path) or "", re.MULTILINE)
    return float(match[1]) if match else None


def _difference(whole: int | None, part: int | None) -> int | None:
    return None if whole is None or part is None else whole - part
