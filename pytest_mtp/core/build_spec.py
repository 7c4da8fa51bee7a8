"""How llama.cpp is compiled: a backend, CMake options, and what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import MappingProxyType

Options = tuple[tuple[str, str], ...]


class Backend(Enum):
    """What computes; ``AUTO`` is what the machine has, and is resolved before anything is built."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"
    METAL = "metal"
    VULKAN = "vulkan"
    HIP = "hip"


_DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "CMAKE_BUILD_TYPE": "Release",
        # One file, which needs nothing else of the build tree.
        "BUILD_SHARED_LIBS": "OFF",
        "LLAMA_BUILD_TESTS": "OFF",
        "LLAMA_BUILD_EXAMPLES": "OFF",
        # Builds of half a year fetch a web page while compiling; a measured server needs none. Two spellings, by age.
        "LLAMA_BUILD_UI": "OFF",
        "LLAMA_BUILD_WEBUI": "OFF",
        # Models are files here, so the server downloads nothing.
        "LLAMA_CURL": "OFF",
        "LLAMA_OPENSSL": "OFF",
    }
)

# The flags of /proc/cpuinfo that each option's code needs. AMX is never named: virtual machines announce it and then
# refuse it, and a native build dies there of SIGILL.
_X86_FLAGS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "GGML_SSE42": frozenset({"sse4_2"}),
        "GGML_AVX": frozenset({"avx"}),
        "GGML_AVX2": frozenset({"avx2"}),
        "GGML_FMA": frozenset({"fma"}),
        "GGML_F16C": frozenset({"f16c"}),
        "GGML_BMI2": frozenset({"bmi2"}),
        "GGML_AVX512": frozenset({"avx512f", "avx512cd", "avx512vl", "avx512dq", "avx512bw"}),
        "GGML_AVX512_VBMI": frozenset({"avx512vbmi"}),
        "GGML_AVX512_VNNI": frozenset({"avx512_vnni"}),
        "GGML_AVX512_BF16": frozenset({"avx512_bf16"}),
    }
)
_X86_MACHINES = frozenset({"x86_64", "amd64", "i386", "i686"})

# Libraries are moved together with the binary, so it must look for them beside itself.
_BESIDE: Mapping[str, str] = MappingProxyType(
    {"CMAKE_BUILD_WITH_INSTALL_RPATH": "ON", "CMAKE_INSTALL_RPATH": "$ORIGIN"}
)

_TRUE_WORDS = frozenset({"ON", "YES", "TRUE", "Y", "1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSpec:
    """What to compile, and how; ``options`` are the profile's and win over ours."""

    backend: Backend
    options: Options = ()
    targets: tuple[str, ...] = ("llama-server",)
    cuda_architectures: tuple[str, ...] = ()
    """What CUDA compiles for, such as ``86``; empty leaves it to llama.cpp, which takes all that are common."""

    def cmake_options(self, cpu_flags: frozenset[str], machine: str) -> Options:
        """Every cache entry given to CMake, sorted, for a CPU with these flags."""
        own = dict(self.options)
        merged = {**_DEFAULTS, **_instruction_sets(cpu_flags, machine), **_backend_options(self.backend)}
        if self.backend is Backend.CUDA and self.cuda_architectures:
            merged["CMAKE_CUDA_ARCHITECTURES"] = ";".join(self.cuda_architectures)
        if own.get("BUILD_SHARED_LIBS", "OFF").upper() in _TRUE_WORDS:
            merged |= _BESIDE
        return tuple(sorted({**merged, **own}.items()))


def _instruction_sets(cpu_flags: frozenset[str], machine: str) -> dict[str, str]:
    """Name what the CPU can do; empty where llama.cpp finds out for itself without harm."""
    if machine.lower() not in _X86_MACHINES:
        return {}
    named = {option: "ON" if needed <= cpu_flags else "OFF" for option, needed in _X86_FLAGS.items()}
    return {"GGML_NATIVE": "OFF", **named}


def _backend_options(backend: Backend) -> dict[str, str]:
    return {} if backend is Backend.CPU else {f"GGML_{backend.name}": "ON"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A llama-server that can be run, and where it came from."""

    server: Path
    identity: str
    """Hash of everything that made it; for a given binary the identity of its file."""
    source: str
    """The identity of its source."""
    label: str
    """What people read; the source's."""
    version: str
    """What ``--version`` prints: a label only, since shallow clones and sdists print wrong numbers."""
    options: Options = ()
    log: Path | None = None
    """What CMake and the compiler wrote; ``None`` for a given binary."""
