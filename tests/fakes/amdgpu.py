"""The files of the kernel's amdgpu driver for cards that nobody has here."""

from pathlib import Path

RX_7900: dict[str, str] = {
    "vendor": "0x1002",
    "device": "0x744c",
    "unique_id": "9f3b7c2e11aa0042",
    "mem_info_vram_total": str(24 * 2**30),
    "mem_info_vram_used": str(18 * 2**30),
    "mem_info_gtt_total": str(31 * 2**30),
    "mem_info_gtt_used": str(200 * 2**20),
    "gpu_busy_percent": "98",
    "pp_dpm_sclk": "0: 500Mhz\n1: 2371Mhz *\n2: 2482Mhz",
    "pp_dpm_mclk": "0: 96Mhz\n1: 1249Mhz *",
    "current_link_width": "16",
    "hwmon/hwmon4/temp1_input": "61000",
    "hwmon/hwmon4/power1_average": "287000000",
    "hwmon/hwmon4/power1_cap": "303000000",
}


def add_card(root: Path, number: int, address: str, files: dict[str, str]) -> None:
    """Write one card below ``root`` (its ``/sys``): the device on the bus, and the link to it."""
    device = root / "devices" / address
    for name, content in files.items():
        path = device / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n")
    folder = root / "class/drm" / f"card{number}"
    folder.mkdir(parents=True)
    (folder / "device").symlink_to(device)
    (root / "class/drm" / f"card{number}-DP-1").mkdir()
