"""What tools say of themselves, and what they are not asked to compile."""

import pytest

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.toolchain import (
    Launcher,
    Toolchain,
    Version,
    chosen_launcher,
    cuda_architecture,
    jobs,
    parse_version,
    refusal,
    refusals,
    suggestion,
    version_line,
)

GIB = 1 << 30

NVCC = """nvcc: NVIDIA (R) Cuda compiler driver
Copyright (c) 2005-2025 NVIDIA Corporation
Built on Wed_Aug_20_01:58:59_PM_PDT_2025
Cuda compilation tools, release 13.0, V13.0.88
Build cuda_13.0.r13.0/compiler.36424714_0
"""
CXX = "c++ (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc.\n"


def tools(*, cmake: Version | None = (4, 1, 0), nvcc: Version | None = (13, 0)) -> Toolchain:
    return Toolchain(cmake=cmake, compilers=("c++",), nvcc=nvcc)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("cmake version 3.25.1\n\nCMake suite maintained and supported by Kitware (kitware.com/cmake).\n", (3, 25, 1)),
        ("cmake version 4.0.0-rc4\n", (4, 0, 0)),
        (NVCC, (13, 0)),
        ("ccache version 4.7.5\nFeatures: file-storage http-storage\n", (4, 7, 5)),
        ("sccache 0.16.0\n", (0, 16, 0)),
        ("", None),
        ("command not found", None),
    ],
)
def test_a_version_is_read_from_what_the_tool_prints(text: str, version: Version | None) -> None:
    assert parse_version(text) == version


@pytest.mark.parametrize(
    ("text", "line"),
    [(CXX, CXX.splitlines()[0]), (NVCC, "Build cuda_13.0.r13.0/compiler.36424714_0"), ("", "")],
)
def test_a_compiler_is_known_by_the_line_with_its_version(text: str, line: str) -> None:
    assert version_line(text) == line


@pytest.mark.parametrize(
    ("architecture", "nvcc", "refused"),
    [
        ("86", (11, 0), True),
        ("86", (11, 1), False),
        ("89", (11, 7), True),
        ("89-real", (11, 8), False),
        ("90a", (11, 7), True),
        ("120a-real", (12, 6), True),
        ("120a-real", (12, 8), False),
        ("70", (12, 9), False),
        ("70-virtual", (13, 0), True),  # CUDA 13 begins at 7.5
        ("75", (13, 0), False),
        ("37", (12, 0), True),
        ("native", (11, 0), False),  # CMake's to resolve
        ("130", (13, 0), False),  # newer than what is known here: nvcc's to refuse
    ],
)
def test_nvcc_compiles_only_for_the_architectures_of_its_age(
    architecture: str, nvcc: Version, *, refused: bool
) -> None:
    assert (refusal(architecture, tools(nvcc=nvcc)) is not None) is refused


@pytest.mark.parametrize(
    ("cmake", "refused"),
    [
        ((3, 25, 1), True),
        ((3, 31, 7), True),
        ((3, 31, 8), False),
        ((3, 31, 10), False),
        ((4, 0, 0), True),
        ((4, 0, 1), True),
        ((4, 0, 2), False),
        ((4, 1), False),
        (None, False),
    ],
)
def test_a_family_of_cards_wants_one_of_the_cmakes_that_llama_cpp_names(
    cmake: Version | None, *, refused: bool
) -> None:
    assert [refusal(one, tools(cmake=cmake)) is not None for one in ("120f", "121f-virtual")] == [refused] * 2
    # llama.cpp makes 120a of 120, and that compiles with CMake 3.25.1 and nvcc 13.0.
    assert [refusal(one, tools(cmake=cmake)) for one in ("120", "121-real", "120a", "90")] == [None] * 4


def test_a_refusal_names_cause_and_mend() -> None:
    assert refusal("120f", tools(cmake=(3, 25, 1))) == (
        "CUDA architecture 120f needs CMake 3.31.8 or newer, but not 4.0.0 or 4.0.1, and this is CMake 3.25.1; "
        "run: pip install 'pytest-mtp[build]' (or name it 120 in the profile's CMAKE_CUDA_ARCHITECTURES)."
    )
    assert refusal("120", tools(cmake=(3, 25, 1), nvcc=(12, 4))) == (
        "CUDA architecture 120 needs CUDA 12.8 or newer, and this nvcc is 12.4: install a newer toolkit and point "
        "CUDACXX to its nvcc."
    )
    assert refusal("70", tools()) == (
        "CUDA 13 and newer compile for architecture 75 and up, not for 70, and this nvcc is 13.0: install an older "
        "toolkit and point CUDACXX to its nvcc."
    )


def test_all_refusals_are_said_at_once() -> None:
    options = (("CMAKE_BUILD_TYPE", "Debug"),)
    kind, cmake, old, blackwell = refusals(Backend.CUDA, options, ("61", "120f", "86"), tools(cmake=(3, 16, 3)))
    assert "Release, not 'Debug': drop CMAKE_BUILD_TYPE" in kind
    assert "needs CMake 3.18 or newer for CUDA, and this is CMake 3.16.3" in cmake
    assert "not for 61" in old
    assert "architecture 120" in blackwell


@pytest.mark.parametrize("options", [(), (("CMAKE_BUILD_TYPE", "Release"),), (("CMAKE_BUILD_TYPE", "release"),)])
def test_a_release_for_a_cpu_is_refused_by_no_tool(options: tuple[tuple[str, str], ...]) -> None:
    assert refusals(Backend.CPU, options, (), tools(cmake=(3, 14), nvcc=None)) == ()


@pytest.mark.parametrize(
    ("ccache", "sccache", "backend", "chosen"),
    [
        ((4, 7), (0, 16), Backend.CUDA, Launcher.CCACHE),
        ((4, 2), (0, 16), Backend.CUDA, Launcher.SCCACHE),  # this ccache keeps nothing of nvcc
        ((4, 2), (0, 16), Backend.CPU, Launcher.CCACHE),
        ((4, 2), None, Backend.CUDA, Launcher.CCACHE),
        (None, (0, 16), Backend.CPU, Launcher.SCCACHE),
        (None, None, Backend.CUDA, None),
    ],
)
def test_ccache_comes_first_where_it_keeps_what_is_compiled(
    ccache: Version | None, sccache: Version | None, backend: Backend, chosen: Launcher | None
) -> None:
    assert chosen_launcher(ccache, sccache, backend) is chosen


def test_a_launcher_is_suggested_only_where_there_is_none() -> None:
    assert "install ccache" in str(suggestion(None))
    assert [suggestion(one) for one in Launcher] == [None, None]


@pytest.mark.parametrize(
    ("cores", "memory_gib", "backend", "asked", "number"),
    [
        (16, 128, Backend.CPU, None, 16),
        (16, 6, Backend.CPU, None, 6),
        (16, 6, Backend.CUDA, None, 2),
        (16, 6, Backend.HIP, None, 2),
        (16, 6, Backend.VULKAN, None, 6),
        (4, 0, Backend.CUDA, None, 1),
        (4, 1, Backend.CUDA, "8", 8),
        (4, 64, Backend.CPU, "many", 4),
        (4, 64, Backend.CPU, "0", 4),
    ],
)
def test_jobs_are_what_cores_and_memory_hold_unless_a_number_was_asked_for(
    cores: int, memory_gib: int, backend: Backend, asked: str | None, number: int
) -> None:
    assert jobs(cores, memory_gib * GIB, backend, asked) == number


@pytest.mark.parametrize(("capability", "name"), [((8, 6), "86"), ((12, 0), "120"), ((7, 5), "75")])
def test_a_compute_capability_is_spelled_as_cmake_wants_it(capability: tuple[int, int], name: str) -> None:
    assert cuda_architecture(capability) == name
