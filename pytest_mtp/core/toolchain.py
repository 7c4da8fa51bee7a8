"""What is known of the tools that compile, and what they cannot compile: said before they are run."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from pytest_mtp.core.build_spec import Backend, Options

Version = tuple[int, ...]

ARCHITECTURES = "CMAKE_CUDA_ARCHITECTURES"
_BUILD_TYPE = "CMAKE_BUILD_TYPE"
_MEASURED_TYPE = "Release"

_GIB = 1 << 30
_JOB_BYTES = _GIB
_DEVICE_JOB_BYTES = 3 * _GIB  # one file of kernels, for one architecture after the other

# Below it ccache runs nvcc, but keeps nothing of what nvcc made.
_CCACHE_FOR_NVCC: Version = (4, 7)

_CMAKE_FOR_CUDA: Version = (3, 18)
# Of every architecture the first CUDA whose nvcc knows it. What is not named is left to nvcc.
_FIRST_CUDA: Mapping[int, Version] = MappingProxyType(
    {
        75: (10, 0), 80: (11, 0), 86: (11, 1), 87: (11, 4), 89: (11, 8), 90: (11, 8),
        100: (12, 8), 103: (12, 9), 120: (12, 8), 121: (12, 9),
    }
)  # fmt: skip
# What a CUDA and all later ones no longer compile for: everything below.
_DROPPED: tuple[tuple[Version, int], ...] = (((12, 0), 50), ((13, 0), 75))

# Of a family of cards, 120f; a plain 12X is made 12Xa by llama.cpp, which any CMake understands.
_CMAKE_FOR_A_FAMILY: Version = (3, 31, 8)
_CMAKE_GAP: tuple[Version, Version] = ((4, 0), (4, 0, 2))

_ARCHITECTURE = re.compile(r"(?P<number>[0-9]{2,3})(?P<suffix>[af]?)(?:-real|-virtual)?")
_NEWER_CMAKE = "run: pip install 'pytest-mtp[build]'"


class Launcher(Enum):
    """What keeps object files for the next build, in front of the compiler."""

    CCACHE = "ccache"
    SCCACHE = "sccache"


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """The tools as they call themselves; ``None`` for what is not there, or does not tell."""

    cmake: Version | None
    compilers: tuple[str, ...]
    """The line of each compiler that says its version, the host's first; an update of one makes another build."""
    nvcc: Version | None = None
    ninja: bool = True
    launcher: Launcher | None = None


def parse_version(text: str) -> Version | None:
    """Read what cmake, ccache, sccache and nvcc print for ``--version``; ``None`` if there is no version in it."""
    match = re.search(r"(?:release |version |^sccache )(\d+(?:\.\d+)+)", text, re.MULTILINE)
    return tuple(int(part) for part in match[1].split(".")) if match else None


def version_line(text: str) -> str:
    """The one line that names a compiler and its version: g++ says it first, nvcc last."""
    lines = text.strip().splitlines() or [""]
    return lines[-1] if "nvcc" in lines[0] else lines[0]


def spelled(version: Version) -> str:
    """``3.31.8`` of its numbers."""
    return ".".join(map(str, version))


def chosen_launcher(ccache: Version | None, sccache: Version | None, backend: Backend) -> Launcher | None:
    """Choose ccache where it is, but for nvcc rather sccache than a ccache that cannot keep its files."""
    if ccache is None or (backend is Backend.CUDA and ccache < _CCACHE_FOR_NVCC and sccache is not None):
        return Launcher.SCCACHE if sccache is not None else None
    return Launcher.CCACHE


def suggestion(launcher: Launcher | None) -> str | None:
    """Say what would make the next build fast; ``None`` where it is there."""
    if launcher is not None:
        return None
    return "nothing keeps object files for the next build, which would then take seconds; install ccache (or sccache)"


def jobs(cores: int, memory_bytes: int, backend: Backend, asked: str | None = None) -> int:
    """How many compilers run at once: as many as cores and memory hold, unless a number was ``asked`` for."""
    if asked and asked.strip().isdecimal() and int(asked) > 0:
        return int(asked)
    each_bytes = _DEVICE_JOB_BYTES if backend in {Backend.CUDA, Backend.HIP} else _JOB_BYTES
    return max(1, min(cores, memory_bytes // each_bytes))


def cuda_architecture(compute_capability: tuple[int, int]) -> str:
    """``86`` of the compute capability 8.6, as CMake wants it."""
    major, minor = compute_capability
    return f"{major}{minor}"


def refusals(backend: Backend, options: Options, architectures: Sequence[str], tools: Toolchain) -> tuple[str, ...]:
    """Say all that stops a build, a sentence each with its mend; ``architectures`` are CUDA's, and may be none."""
    return tuple(_refusals(backend, dict(options), architectures, tools))


def _refusals(
    backend: Backend, options: Mapping[str, str], architectures: Sequence[str], tools: Toolchain
) -> Iterator[str]:
    kind = options.get(_BUILD_TYPE, _MEASURED_TYPE)
    if kind.casefold() != _MEASURED_TYPE.casefold():
        yield f"A measured build is a Release, not {kind!r}: drop {_BUILD_TYPE} from the profile's [build.options]."
    if backend is not Backend.CUDA:
        return
    if tools.cmake is not None and tools.cmake < _CMAKE_FOR_CUDA:
        found, wanted = spelled(tools.cmake), spelled(_CMAKE_FOR_CUDA)
        yield f"llama.cpp needs CMake {wanted} or newer for CUDA, and this is CMake {found}; {_NEWER_CMAKE}."
    for architecture in architectures:
        if (refused := refusal(architecture, tools)) is not None:
            yield refused


def refusal(architecture: str, tools: Toolchain) -> str | None:
    """Say why these tools cannot compile for a CUDA architecture (``86``, ``120a-real``); ``None``: they can.

    Words that only CMake resolves, such as ``native``, are left to it.
    """
    match = _ARCHITECTURE.fullmatch(architecture.strip())
    if match is None:
        return None
    number = int(match["number"])
    refused = None if tools.nvcc is None else _nvcc_refusal(number, tools.nvcc)
    if refused is None and tools.cmake is not None and match["suffix"] == "f":
        refused = _cmake_refusal(number, tools.cmake)
    return refused


def _nvcc_refusal(number: int, nvcc: Version) -> str | None:
    first = _FIRST_CUDA.get(number)
    if first is not None and nvcc < first:
        return (
            f"CUDA architecture {number} needs CUDA {spelled(first)} or newer, and this nvcc is {spelled(nvcc)}: "
            "install a newer toolkit and point CUDACXX to its nvcc."
        )
    for since, lowest in _DROPPED:
        if nvcc >= since and number < lowest:
            return (
                f"CUDA {spelled(since[:1])} and newer compile for architecture {lowest} and up, not for {number}, and "
                f"this nvcc is {spelled(nvcc)}: install an older toolkit and point CUDACXX to its nvcc."
            )
    return None


def _cmake_refusal(number: int, cmake: Version) -> str | None:
    low, high = _CMAKE_GAP
    if cmake >= _CMAKE_FOR_A_FAMILY and not low <= cmake < high:
        return None
    return (
        f"CUDA architecture {number}f needs CMake {spelled(_CMAKE_FOR_A_FAMILY)} or newer, but not 4.0.0 or 4.0.1, "
        f"and this is CMake {spelled(cmake)}; {_NEWER_CMAKE} (or name it {number} in the profile's {ARCHITECTURES})."
    )
