"""A real CMake project, compiled once, and binaries that fail."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mtp.core.build_spec import Backend, Build, BuildSpec
from pytest_mtp.core.source import Source, SourceKind
from pytest_mtp.errors import BuildError
from pytest_mtp.runtime.build import build, complaints
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.compilation import Narrator, elapsed, excerpt

CMAKE = """
cmake_minimum_required(VERSION 3.18)
project(tiny CXX)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
add_library(word word.cpp)
add_executable(llama-server main.cpp)
target_link_libraries(llama-server word)
"""
MAIN = """
#include <cstdio>
const char * word();
int main() { std::fprintf(stderr, "loading\\nversion: %s (build 0, commit unknown)\\n", word()); }
"""
WORD = 'const char * word() { return "0.1"; }'

SPEC = BuildSpec(backend=Backend.CPU)


@pytest.fixture(autouse=True)
def _own_ccache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCACHE_DIR", str(tmp_path / "ccache"))


def tree(folder: Path, *, word: str = WORD) -> Source:
    folder.mkdir()
    for name, text in {"CMakeLists.txt": CMAKE, "main.cpp": MAIN, "word.cpp": word}.items():
        (folder / name).write_text(text)
    return Source(kind=SourceKind.DIR, path=folder, identity=f"dir-{folder.name}", label="b7")


def script(path: Path, text: str) -> Source:
    executable(path, text)
    return Source(kind=SourceKind.BIN, path=path, identity="bin-1", label="mine")


def given(source: Source) -> Build:
    return build(SPEC, source, Cache(Path("unused")))


def test_a_build_is_told_kept_alone_and_found_again(tmp_path: Path) -> None:
    source, cache, said = tree(tmp_path / "src"), Cache(tmp_path / "cache"), []  # type: tuple[Source, Cache, list[str]]
    made = build(SPEC, source, cache, said.append)
    assert made.version == "version: 0.1 (build 0, commit unknown)"
    assert (made.source, made.label, dict(made.options)["CMAKE_BUILD_TYPE"]) == ("dir-src", "b7", "Release")
    entry = made.server.parents[1]
    assert sorted(one.name for one in entry.iterdir()) == [".mtp-entry.json", ".mtp-seal.json", "bin", "build.log"]
    assert said[0] == "configuring b7"
    assert said[1].startswith("building b7: 1/4, ")
    assert said[-1].startswith("building b7: 4/4, ")
    told = len(said)
    assert (build(SPEC, source, cache, said.append), len(said)) == (made, told)


def test_other_code_options_or_compiler_flags_are_another_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, source = Cache(tmp_path / "cache"), tree(tmp_path / "src")
    other = BuildSpec(backend=Backend.CPU, options=(("GGML_LTO", "ON"),))
    builds = [build(SPEC, source, cache), build(SPEC, tree(tmp_path / "src2"), cache), build(other, source, cache)]
    monkeypatch.setenv("CXXFLAGS", "-DX")
    builds.append(build(SPEC, source, cache))
    assert len({one.identity for one in builds}) == len({one.server for one in builds}) == 4


def test_a_commit_is_compiled_once_under_all_of_its_names(tmp_path: Path) -> None:
    cache, source = Cache(tmp_path / "cache"), tree(tmp_path / "src")
    names = ("abc1234", "master @ abc1234", "pull/1/head @ abc1234")
    builds = [build(SPEC, replace(source, label=name), cache) for name in names]
    assert len({one.identity for one in builds}) == len({one.server for one in builds}) == 1
    assert tuple(one.label for one in builds) == names


def test_shared_libraries_move_with_the_binary(tmp_path: Path) -> None:
    spec = BuildSpec(backend=Backend.CPU, options=(("BUILD_SHARED_LIBS", "ON"),))
    made = build(spec, tree(tmp_path / "src"), Cache(tmp_path / "cache"))
    assert sorted(one.name for one in made.server.parent.iterdir()) == ["libword.so", "llama-server"]
    assert made.version.startswith("version: 0.1")


def test_a_compile_error_is_in_the_message_with_the_log(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="Compiling b7 failed") as failure:
        build(SPEC, tree(tmp_path / "src", word="nonsense here;"), Cache(tmp_path / "cache"))
    assert "error: " in str(failure.value)
    assert "nonsense" in str(failure.value)
    (log,) = tmp_path.glob("cache/build/*/build.log")
    assert str(log) in str(failure.value)
    assert not (log.parent / "tree").exists()


def test_a_configure_error_is_in_the_message(tmp_path: Path) -> None:
    source = tree(tmp_path / "src")
    (source.path / "CMakeLists.txt").write_text('message(FATAL_ERROR "too old")')
    with pytest.raises(BuildError, match=r"Configuring b7 failed(?s:.*)too old"):
        build(SPEC, source, Cache(tmp_path / "cache"))


def test_a_tree_that_makes_no_server_is_refused(tmp_path: Path) -> None:
    source = tree(tmp_path / "src")
    (source.path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(x NONE)\nadd_custom_target(llama-server)\n"
    )
    with pytest.raises(BuildError, match="without making bin/llama-server"):
        build(SPEC, source, Cache(tmp_path / "cache"))


@pytest.mark.skipif(shutil.which("ccache") is None, reason="ccache is not installed")
def test_an_unchanged_file_of_another_tree_is_not_compiled_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    build(SPEC, tree(tmp_path / "one"), cache)
    build(SPEC, tree(tmp_path / "two", word=WORD.replace("0.1", "0.2")), cache)
    statistics = subprocess.run(["ccache", "--print-stats"], check=True, capture_output=True, text=True).stdout
    counted = dict(line.split("\t") for line in statistics.splitlines())
    assert int(counted["direct_cache_hit"]) + int(counted["preprocessed_cache_hit"]) == 1
    assert int(counted["cache_miss"]) == 3


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the whole PATH: a compiler with cmake and make, and nothing that is optional."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("cmake", "make", "c++", "cc", "ld", "ar", "ranlib", "as", "sh"):
        (tools / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(tools))
    return tools


def executable(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def log_of(made: Build) -> str:
    return str(made.log and made.log.read_text())


@pytest.mark.usefixtures("bare")
def test_make_is_used_where_ninja_is_missing(tmp_path: Path) -> None:
    said: list[str] = []
    made = build(SPEC, tree(tmp_path / "src"), Cache(tmp_path / "cache"), said.append)
    assert said[-1].startswith("building b7: 100%, ")
    assert "-G Ninja" not in log_of(made)


@pytest.mark.usefixtures("bare")
def test_a_build_that_nothing_will_speed_up_says_what_would_once(tmp_path: Path) -> None:
    said: list[str] = []
    build(SPEC, tree(tmp_path / "src"), Cache(tmp_path / "cache"), said.append)
    assert [place for place, text in enumerate(said) if "install ccache" in text] == [0]


def test_sccache_compiles_where_ccache_is_missing_and_its_server_ends_with_the_build(
    bare: Path, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    executable(
        bare / "sccache",
        f"""
        case "$1" in
        --version) echo sccache 0.16.0 ;;
        --stop-server) echo "stop $SCCACHE_SERVER_PORT" >> '{told}' ;;
        *) echo "$SCCACHE_BASEDIRS $SCCACHE_SERVER_PORT" >> '{told}'; exec "$@" ;;
        esac""",
    )
    made = build(SPEC, tree(tmp_path / "src"), Cache(tmp_path / "cache"))
    *compiled, stopped = told.read_text().splitlines()
    port = stopped.removeprefix("stop ")
    assert compiled == [f"{made.server.parents[1]} {port}"] * 2
    assert port.isdecimal()


def test_as_many_compilers_run_as_the_user_asks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CMAKE_BUILD_PARALLEL_LEVEL", "7")
    assert " -j 7 llama-server\n" in log_of(build(SPEC, tree(tmp_path / "src"), Cache(tmp_path / "cache")))


@pytest.mark.parametrize(
    ("cmake", "nvcc", "options", "cause"),
    [
        ("3.25.1", "13.0", {"CMAKE_CUDA_ARCHITECTURES": "86;120f"}, "architecture 120f .* this is CMake 3.25.1"),
        ("4.1.2", "13.0", {"CMAKE_CUDA_ARCHITECTURES": "70"}, "not for 70, and this nvcc is 13.0"),
        ("4.1.2", "12.6", {"CMAKE_CUDA_ARCHITECTURES": "120a-real"}, "needs CUDA 12.8 or newer"),
        ("3.16.3", "11.4", {"CMAKE_CUDA_ARCHITECTURES": "86"}, "needs CMake 3.18 or newer"),
        ("4.1.2", "12.8", {"CMAKE_BUILD_TYPE": "Debug", "CMAKE_CUDA_ARCHITECTURES": "86"}, "is a Release"),
    ],
)
def test_what_the_tools_cannot_compile_is_refused_before_anything_is_configured(
    cmake: str, nvcc: str, options: dict[str, str], cause: str, *, bare: Path, tmp_path: Path
) -> None:
    executable(bare / "cmake", f"echo cmake version {cmake}")
    executable(bare / "nvcc", f"echo 'nvcc: NVIDIA (R)'; echo 'Cuda compilation tools, release {nvcc}, V{nvcc}.88'")
    spec = BuildSpec(backend=Backend.CUDA, options=tuple(options.items()))
    with pytest.raises(BuildError, match=cause):
        build(spec, tree(tmp_path / "src"), Cache(tmp_path / "cache"))
    assert not (tmp_path / "cache").exists()


def test_what_would_be_refused_can_be_asked_without_a_build(bare: Path) -> None:
    executable(bare / "nvcc", "echo 'Cuda compilation tools, release 13.0, V13.0.88'")
    (said,) = complaints(BuildSpec(backend=Backend.CUDA, cuda_architectures=("70",)))
    assert "not for 70" in said
    assert complaints(SPEC) == ()


def test_the_architectures_of_the_caller_and_of_the_environment_are_refused_too(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable(bare / "nvcc", "echo 'Cuda compilation tools, release 13.0, V13.0.88'")
    source, cache = tree(tmp_path / "src"), Cache(tmp_path / "cache")
    with pytest.raises(BuildError, match="not for 61"):
        build(BuildSpec(backend=Backend.CUDA, cuda_architectures=("86", "61")), source, cache)
    monkeypatch.setenv("CUDAARCHS", "52")
    with pytest.raises(BuildError, match="not for 52"):
        build(BuildSpec(backend=Backend.CUDA), source, cache)


def test_cuda_is_compiled_for_the_architectures_asked_by_the_nvcc_that_was_found(bare: Path, tmp_path: Path) -> None:
    executable(bare / "nvcc", "echo 'Cuda compilation tools, release 11.8, V11.8.88'")
    spec = BuildSpec(backend=Backend.CUDA, cuda_architectures=("86", "89"))
    made = build(spec, tree(tmp_path / "src"), Cache(tmp_path / "cache"))
    assert dict(made.options)["CMAKE_CUDA_ARCHITECTURES"] == "86;89"
    assert f"-DCMAKE_CUDA_COMPILER={bare / 'nvcc'} " in log_of(made)


def test_another_nvcc_is_another_build(bare: Path, tmp_path: Path) -> None:
    source, cache = tree(tmp_path / "src"), Cache(tmp_path / "cache")
    spec = BuildSpec(backend=Backend.CUDA, cuda_architectures=("86",))
    identities = []
    for version in ("12.4", "12.8"):
        executable(bare / "nvcc", f"echo 'Cuda compilation tools, release {version}, V{version}.1'")
        identities.append(build(spec, source, cache).identity)
    assert len(set(identities)) == 2


def test_a_backend_without_its_compiler_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="metal is Apple's"):
        build(BuildSpec(backend=Backend.METAL), tree(tmp_path / "src"), Cache(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("kept", "mend"), [("sh", "pip install 'pytest-mtp.build.'"), ("cmake", "neither ninja nor make")]
)
def test_missing_tools_are_named_with_the_mend(
    kept: str, mend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / kept).symlink_to(str(shutil.which(kept)))
    source = tree(tmp_path / "src")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match=mend):
        build(SPEC, source, Cache(tmp_path / "cache"))


def test_a_missing_compiler_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler -O2")
    with pytest.raises(BuildError, match=r"no C\+\+ compiler 'no-such-compiler'"):
        build(SPEC, tree(tmp_path / "src"), Cache(tmp_path / "cache"))


def test_a_given_binary_is_taken_as_it_is(tmp_path: Path) -> None:
    made = given(script(tmp_path / "server", "echo 'version: 9206 (2dff7ff8f)' >&2; echo built with x >&2"))
    assert (made.version, made.identity, made.log) == ("version: 9206 (2dff7ff8f)", "bin-1", None)
    assert made.server == tmp_path / "server"


def test_a_published_binary_is_not_compiled(tmp_path: Path) -> None:
    published = replace(script(tmp_path / "server", "echo version: 1"), kind=SourceKind.RELEASE)
    assert build(SPEC, published, Cache(tmp_path / "cache")).server == tmp_path / "server"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kill -ILL $$", "SIGILL. It holds instructions that this CPU lacks(?s:.*)GGML_AVX512"),
        ("kill -SEGV $$", "was ended by SIGSEGV.$"),
        ("echo no libcudart.so >&2; exit 127", "ended with status 127.\nno libcudart.so"),
    ],
)
def test_a_binary_that_fails_says_how(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=message):
        given(script(tmp_path / "server", text))


def test_a_binary_of_another_machine_is_refused(tmp_path: Path) -> None:
    source = script(tmp_path / "server", "")
    source.path.write_bytes(b"\x7fELF nonsense")
    with pytest.raises(BuildError, match="cannot be run: Exec format error"):
        given(source)


def test_steps_are_told_when_they_change_and_the_last_always() -> None:
    said: list[str] = []
    narrator = Narrator("building b7", said.append)
    for line in ("ninja: Entering", "[1/3] a.cpp", "warning: x", "[2/3] b.cpp", "[3/3] Linking", "[3/3] Linking"):
        narrator.hear(line)
    assert said == ["building b7: 1/3, 0 s", "building b7: 3/3, 0 s"]


def test_durations_read_as_people_say_them() -> None:
    assert [elapsed(8.9), elapsed(72.0)] == ["8 s", "1 min 12 s"]


def test_an_excerpt_shows_the_first_error_else_the_end() -> None:
    noise = [f"line {number}" for number in range(60)]
    assert excerpt("\n".join(noise)).splitlines() == noise[-20:]
    shown = excerpt("\n".join([*noise[:30], "a.cpp:1:1: error: bad", *noise[30:]])).splitlines()
    assert (len(shown), shown[0], shown[3]) == (20, "line 27", "a.cpp:1:1: error: bad")
