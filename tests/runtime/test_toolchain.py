"""Tools that are really there, and some that are made here."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from pytest_mtp.core.accelerator import Vendor
from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.toolchain import Launcher
from pytest_mtp.errors import BuildError
from pytest_mtp.runtime import toolchain
from pytest_mtp.runtime.toolchain import accelerators, compute_capabilities, find_nvcc, find_tools, read_toolchain


def tool(folder: Path, name: str, says: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the whole PATH, and no toolkit of this machine beside it."""
    for name in ("CUDACXX", "CUDA_PATH", "CUDA_HOME", "CXX"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "sh").symlink_to(str(shutil.which("sh")))
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv" / "python"))
    return folder


def test_the_tools_of_this_machine_tell_their_versions() -> None:
    known = read_toolchain(find_tools(), Backend.CPU)
    assert known.cmake is not None
    assert known.cmake > (3, 10)
    assert len(known.compilers) == 1
    assert re.search(r"\d+\.\d+", known.compilers[0])
    assert known.nvcc is None


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_the_cuda_compiler_of_this_machine_is_known_beside_the_hosts() -> None:
    known = read_toolchain(find_tools(), Backend.CUDA)
    assert known.nvcc is not None
    assert known.nvcc >= (10, 0)
    assert known.compilers[1].startswith("Build cuda_")


def test_what_is_installed_beside_this_python_comes_before_the_path(alone: Path) -> None:
    tool(alone, "cmake", "cmake version 3.25.1")
    tool(alone, "c++", "c++ 12")
    newer = tool(Path(sys.executable).parent, "cmake", "cmake version 4.1.2")
    tool(alone, "ninja")
    found = find_tools()
    assert (found.cmake, found.ninja, found.make) == (str(newer), str(alone / "ninja"), None)
    assert read_toolchain(found, Backend.CPU).cmake == (4, 1, 2)


@pytest.mark.parametrize(
    ("names", "chosen"), [((), None), (("sccache",), Launcher.SCCACHE), (("ccache", "sccache"), Launcher.CCACHE)]
)
def test_a_launcher_is_found_where_there_is_one(names: tuple[str, ...], chosen: Launcher | None, alone: Path) -> None:
    for name in ("cmake", "ninja", "c++"):
        tool(alone, name)
    for name in names:
        tool(alone, name, {"ccache": "ccache version 4.7.5", "sccache": "sccache 0.16.0"}[name])
    found = find_tools()
    known = read_toolchain(found, Backend.CPU)
    assert known.launcher is chosen
    assert found.launcher(known.launcher) == (str(alone / chosen.value) if chosen else None)


def test_the_compilers_of_the_profile_are_the_ones_that_are_asked(alone: Path) -> None:
    for name in ("cmake", "ninja", "c++"):
        tool(alone, name)
    options = (
        ("CMAKE_CXX_COMPILER", str(tool(alone, "g++-13", "g++-13 13.2"))),
        ("CMAKE_CUDA_COMPILER", str(tool(alone, "nvcc-12", "Cuda compilation tools, release 12.4, V12.4.1"))),
    )
    known = read_toolchain(find_tools(), Backend.CUDA, options)
    assert (known.compilers[0], known.nvcc) == ("g++-13 13.2", (12, 4))
    with pytest.raises(BuildError, match=r"no C\+\+ compiler '/none'"):
        read_toolchain(find_tools(), Backend.CPU, (("CMAKE_CXX_COMPILER", "/none"),))


def test_nvcc_is_looked_for_as_named_then_on_the_path_then_in_toolkits(
    alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolkit = tool(tmp_path / "cuda" / "bin", "nvcc")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "cuda"))
    assert find_nvcc() == str(toolkit)
    on_path = tool(alone, "nvcc")
    assert find_nvcc() == str(on_path)
    named = tool(tmp_path / "other", "nvcc-12")
    monkeypatch.setenv("CUDACXX", f"{named} -arch=sm_86")
    assert find_nvcc() == str(named)
    assert find_nvcc((("CMAKE_CUDA_COMPILER", str(toolkit)),)) == str(toolkit)
    monkeypatch.setenv("CUDACXX", "/none")
    assert find_nvcc() is None


@pytest.mark.parametrize(("vendor", "found"), [("0x1002", {Vendor.AMD}), ("0x8086", set())])
def test_a_card_is_known_by_its_maker(
    vendor: str, found: set[Vendor], alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = tmp_path / "drm" / "card1" / "device"
    card.mkdir(parents=True)
    (card / "vendor").write_text(f"{vendor}\n")
    tool(alone, "glslc")
    monkeypatch.setattr(toolchain, "_CARDS", tmp_path / "drm")
    machine = accelerators()
    assert machine.vendors - {Vendor.NVIDIA} == found
    assert machine.compilers - {"nvcc"} == {"glslc"}


def test_the_cards_of_this_machine_are_told_without_an_error() -> None:
    assert (Vendor.NVIDIA in accelerators().vendors) is bool(compute_capabilities())
