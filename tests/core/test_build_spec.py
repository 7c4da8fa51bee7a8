"""What CMake is told."""

import pytest

from pytest_mtp.core.build_spec import Backend, BuildSpec

AVX512 = frozenset({"avx512f", "avx512cd", "avx512vl", "avx512dq", "avx512bw"})


def options(*own: tuple[str, str], flags: frozenset[str] = frozenset(), machine: str = "x86_64") -> dict[str, str]:
    return dict(BuildSpec(backend=Backend.CPU, options=own).cmake_options(flags, machine))


def test_a_build_is_static_optimised_and_needs_no_network() -> None:
    told = options()
    assert told["CMAKE_BUILD_TYPE"] == "Release"
    off = {name for name, value in told.items() if value == "OFF"}
    assert {"BUILD_SHARED_LIBS", "LLAMA_BUILD_UI", "LLAMA_BUILD_WEBUI", "LLAMA_CURL", "LLAMA_OPENSSL"} <= off


@pytest.mark.parametrize(
    ("flags", "option", "value"),
    [
        (frozenset({"avx2"}), "GGML_AVX2", "ON"),
        (frozenset({"avx"}), "GGML_AVX2", "OFF"),
        (frozenset({"sse4_2"}), "GGML_SSE42", "ON"),
        (AVX512, "GGML_AVX512", "ON"),
        (AVX512 - {"avx512dq"}, "GGML_AVX512", "OFF"),  # its code is compiled for all five
        (frozenset({"avx512vbmi"}), "GGML_AVX512_VBMI", "ON"),
        (frozenset({"avx512_vnni"}), "GGML_AVX512_VNNI", "ON"),
        (frozenset({"avx512_bf16"}), "GGML_AVX512_BF16", "ON"),
    ],
)
def test_instruction_sets_are_named_from_the_flags(flags: frozenset[str], option: str, value: str) -> None:
    assert options(flags=flags)[option] == value


def test_amx_is_not_used_even_where_the_cpu_announces_it() -> None:
    told = options(flags=AVX512 | {"amx_tile", "amx_int8", "amx_bf16"})
    assert told["GGML_NATIVE"] == "OFF"
    assert not any("AMX" in name for name in told)


def test_other_machines_are_left_to_llama_cpp() -> None:
    assert not any(name.startswith("GGML_") for name in options(flags=frozenset({"asimd"}), machine="aarch64"))


def test_the_profile_wins_and_each_option_is_told_once() -> None:
    spec = BuildSpec(backend=Backend.CUDA, options=(("GGML_CUDA", "OFF"), ("CMAKE_CUDA_ARCHITECTURES", "86")))
    told = spec.cmake_options(frozenset(), "x86_64")
    assert len(told) == len(dict(told))
    assert dict(told)["GGML_CUDA"] == "OFF"
    assert dict(told)["CMAKE_CUDA_ARCHITECTURES"] == "86"


def test_cuda_is_compiled_for_the_named_architectures_and_the_profile_wins() -> None:
    named = ("86", "89")
    spec = BuildSpec(backend=Backend.CUDA, cuda_architectures=named)
    assert ("CMAKE_CUDA_ARCHITECTURES", "86;89") in spec.cmake_options(frozenset(), "x86_64")
    own = BuildSpec(backend=Backend.CUDA, cuda_architectures=named, options=(("CMAKE_CUDA_ARCHITECTURES", "90"),))
    assert dict(own.cmake_options(frozenset(), "x86_64"))["CMAKE_CUDA_ARCHITECTURES"] == "90"
    cpu = BuildSpec(backend=Backend.CPU, cuda_architectures=named)
    assert "CMAKE_CUDA_ARCHITECTURES" not in dict(cpu.cmake_options(frozenset(), "x86_64"))


@pytest.mark.parametrize("backend", [one for one in Backend if one not in {Backend.AUTO, Backend.CPU}])
def test_a_backend_is_switched_on_by_its_name(backend: Backend) -> None:
    assert (f"GGML_{backend.name}", "ON") in BuildSpec(backend=backend).cmake_options(frozenset(), "aarch64")


def test_the_order_of_the_profile_does_not_matter() -> None:
    assert options(("A", "1"), ("B", "2")) == options(("B", "2"), ("A", "1"))
    told = BuildSpec(backend=Backend.CPU, options=(("Z", "1"), ("A", "2"))).cmake_options(frozenset(), "x86_64")
    assert list(told) == sorted(told)


@pytest.mark.parametrize(("value", "beside"), [("ON", True), ("on", True), ("1", True), ("OFF", False)])
def test_shared_libraries_are_looked_for_beside_the_binary(value: str, *, beside: bool) -> None:
    assert (options(("BUILD_SHARED_LIBS", value)).get("CMAKE_INSTALL_RPATH") == "$ORIGIN") is beside
