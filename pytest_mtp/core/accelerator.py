"""What of a machine can compute, and which backend that comes to."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.errors import BuildError


class Vendor(Enum):
    """Who made a card."""

    NVIDIA = "NVIDIA"
    AMD = "AMD"


# The best first: its own toolkit before what any card can do.
_PREFERRED = (Backend.CUDA, Backend.METAL, Backend.HIP, Backend.VULKAN)
_CARDS: Mapping[Backend, Vendor] = MappingProxyType(
    {Backend.CUDA: Vendor.NVIDIA, Backend.HIP: Vendor.AMD, Backend.VULKAN: Vendor.AMD}
)
_COMPILERS: Mapping[Backend, tuple[str, str]] = MappingProxyType(
    {
        Backend.CUDA: ("nvcc", "install the CUDA toolkit and put its bin folder on the PATH, or point CUDACXX to nvcc"),
        Backend.HIP: ("hipcc", "install ROCm's HIP SDK and put its bin folder on the PATH"),
        Backend.VULKAN: ("glslc", "install the Vulkan SDK (apt install glslc libvulkan-dev)"),
    }
)
_APPLE = "Darwin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerators:
    """The cards of a machine, and the compilers for them."""

    system: str
    """As ``platform.system()`` says it."""
    vendors: frozenset[Vendor] = frozenset()
    compilers: frozenset[str] = frozenset()
    """Of ``nvcc``, ``hipcc`` and ``glslc`` those that are there."""


def resolve_backend(asked: Backend, found: Accelerators, *, compiled: bool = True) -> Backend:
    """The backend that is meant; ``BuildError`` when the one that was named cannot be had.

    ``AUTO`` is the best that this machine has, and the CPU when it has none. Binaries that somebody
    else ``compiled`` (then False) need the card and no compiler.
    """
    if asked is not Backend.AUTO:
        if (lacking := _lacking(asked, found, compiled=compiled)) is not None:
            raise BuildError(lacking)
        return asked
    return next((one for one in _PREFERRED if _fits(one, found, compiled=compiled)), Backend.CPU)


def _fits(backend: Backend, found: Accelerators, *, compiled: bool) -> bool:
    card = _CARDS.get(backend)
    return (card is None or card in found.vendors) and _lacking(backend, found, compiled=compiled) is None


def _lacking(backend: Backend, found: Accelerators, *, compiled: bool) -> str | None:
    """Say which system or compiler is missing; a card may come later, and on another machine."""
    if backend is Backend.METAL and found.system != _APPLE:
        return f"The backend metal is Apple's, and this is {found.system}; use --mtp-backend auto, or another backend."
    compiler, mend = _COMPILERS.get(backend, ("", ""))
    if compiled and compiler and compiler not in found.compilers:
        return f"The backend {backend.value} needs {compiler}, which is not here; {mend}, or use --mtp-backend cpu."
    return None
