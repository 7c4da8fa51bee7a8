"""Which backend a wish comes to."""

import pytest

from pytest_mtp.core.accelerator import Accelerators, Vendor, resolve_backend
from pytest_mtp.core.build_spec import Backend
from pytest_mtp.errors import BuildError

ALL = frozenset({"nvcc", "hipcc", "glslc"})


def machine(*vendors: Vendor, compilers: frozenset[str] = ALL, system: str = "Linux") -> Accelerators:
    return Accelerators(system=system, vendors=frozenset(vendors), compilers=compilers)


@pytest.mark.parametrize(
    ("found", "backend"),
    [
        (machine(Vendor.NVIDIA), Backend.CUDA),
        (machine(Vendor.NVIDIA, Vendor.AMD), Backend.CUDA),
        (machine(Vendor.NVIDIA, compilers=frozenset({"glslc"})), Backend.CPU),
        (machine(Vendor.AMD), Backend.HIP),
        (machine(Vendor.AMD, compilers=frozenset({"glslc"})), Backend.VULKAN),
        (machine(Vendor.AMD, compilers=frozenset()), Backend.CPU),
        (machine(), Backend.CPU),  # compilers alone compute nothing
        (machine(system="Darwin", compilers=frozenset()), Backend.METAL),
    ],
)
def test_auto_is_the_best_that_the_machine_can_compile_for(found: Accelerators, backend: Backend) -> None:
    assert resolve_backend(Backend.AUTO, found) is backend


@pytest.mark.parametrize(("vendor", "backend"), [(Vendor.NVIDIA, Backend.CUDA), (Vendor.AMD, Backend.HIP)])
def test_what_others_compiled_needs_the_card_alone(vendor: Vendor, backend: Backend) -> None:
    found = machine(vendor, compilers=frozenset())
    assert resolve_backend(Backend.AUTO, found, compiled=False) is backend
    assert resolve_backend(backend, found, compiled=False) is backend


@pytest.mark.parametrize("backend", [Backend.CPU, Backend.CUDA, Backend.HIP, Backend.VULKAN])
def test_a_named_backend_is_taken_where_it_can_be_compiled(backend: Backend) -> None:
    assert resolve_backend(backend, machine()) is backend


@pytest.mark.parametrize(
    ("backend", "text"),
    [
        (Backend.CUDA, "needs nvcc, which is not here; install the CUDA toolkit"),
        (Backend.HIP, "needs hipcc"),
        (Backend.VULKAN, "needs glslc"),
        (Backend.METAL, "metal is Apple's, and this is Linux"),
    ],
)
def test_a_named_backend_that_cannot_be_had_is_refused_with_the_mend(backend: Backend, text: str) -> None:
    with pytest.raises(BuildError, match=text):
        resolve_backend(backend, machine(compilers=frozenset()))
