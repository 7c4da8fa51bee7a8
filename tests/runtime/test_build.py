"""A real CMake project, compiled once, and binaries that fail."""

import shutil
import subprocess
from pathlib import Path

import pytest

from pytest_mtp.core.build_spec import Backend, Build, BuildSpec
from pytest_mtp.core.source import Source, SourceKind
from pytest_mtp.errors import BuildError
from pytest_mtp.runtime.build import build
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
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return Source(kind=SourceKind.BIN, path=path, identity="bin-1", label="mine")


def given(source: Source) -> Build:
    return build(SPEC, source, Cache(Path("unused")))


def test_a_build_is_told_kept_alone_and_found_again(tmp_path: Path) -> None:
    source, cache, said = tree(tmp_path / "src"), Cache(tmp_path / "cache"), []  # type: tuple[Source, Cache, list[str]]
    made = build(SPEC, source, cache, said.append)
    assert made.version == "version: 0.1 (build 0, commit unknown)"
    assert (made.source, made.label, dict(made.options)["CMAKE_BUILD_TYPE"]) == ("dir-src", "b7", "Release")
    entry = made.server.parents[1]
    assert sorted(one.name for one in entry.iterdir()) == [".mtp-entry.json", "bin", "build.log"]
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


def test_make_is_used_where_ninja_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("cmake", "make", "c++", "cc", "ld", "ar", "ranlib", "as", "sh"):
        (tools / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(tools))
    said: list[str] = []
    made = build(SPEC, tree(tmp_path / "src"), Cache(tmp_path / "cache"), said.append)
    assert said[-1].startswith("building b7: 100%, ")
    assert "-G Ninja" not in str(made.log and made.log.read_text())


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
