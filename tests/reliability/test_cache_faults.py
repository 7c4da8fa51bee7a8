"""What becomes of a cache whose files rot, whose makers die, and whose disk is another machine's."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pytest_mtp.core.build_spec import Backend, Build, BuildSpec
from pytest_mtp.core.model import Model, ModelKind, ModelSpec
from pytest_mtp.core.served_tables import PhantomTable
from pytest_mtp.core.source import parse_source
from pytest_mtp.errors import CacheError
from pytest_mtp.runtime import cache as cache_module
from pytest_mtp.runtime.build import build
from pytest_mtp.runtime.cache import STAMP, Cache
from pytest_mtp.runtime.filesystem import network_file_system
from pytest_mtp.runtime.models import fetch_model
from pytest_mtp.runtime.seal import SEAL
from pytest_mtp.runtime.soundness import flaws
from pytest_mtp.runtime.sources import fetch_source
from tests.fakes.network_disk import KIND, network_disk

# What is compiled is a script: its bytes are what is measured all the same.
_CMAKE = """
cmake_minimum_required(VERSION 3.18)
project(quick NONE)
add_custom_target(llama-server COMMAND sh ${CMAKE_SOURCE_DIR}/compile.sh)
"""
_COMPILE = """
mkdir -p bin
printf '#!/bin/sh\\necho version: 7\\n# as it was made\\n' > bin/llama-server
chmod +x bin/llama-server
"""
_PHANTOM = PhantomTable(seed=1, layers=4, n_embd=256, n_ff=512, chain_length=64, weights="q8_0", wrong={"right": 0.0})

# Makes half an entry, says so, and never ends by itself.
_HALF = """
import sys, time
from pathlib import Path
from pytest_mtp.runtime.cache import Cache

def make(folder):
    (folder / "half").write_text("of it")
    print("making", flush=True)
    sys.stdin.read()

Cache(Path(sys.argv[1])).entry("thing", {"a": 1}, make, sealed=True)
"""


class Bench:
    """A cache with a build and a phantom in it, and what was said."""

    def __init__(self, folder: Path) -> None:
        self.cache, self.said = Cache(folder / "cache"), list[str]()
        self.tree = folder / "tree"
        self.tree.mkdir()
        (self.tree / "CMakeLists.txt").write_text(_CMAKE)
        (self.tree / "compile.sh").write_text(_COMPILE)

    def build(self) -> Build:
        source = fetch_source(parse_source(f"dir:{self.tree}"), self.cache)
        return build(BuildSpec(backend=Backend.CPU), source, self.cache, self.said.append)

    def phantom(self) -> Model:
        spec = ModelSpec(kind=ModelKind.PHANTOM, location="sound")
        return fetch_model(spec, _PHANTOM, self.cache, self.said.append)

    def made(self, what: str) -> Path:
        return self.build().server if what == "build" else self.phantom().path


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def flip(path: Path) -> None:
    """Turn the last bit over and leave size and times as they were, as a rotting disk does."""
    before, data = path.stat(), bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def cut(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def entry_of(path: Path) -> Path:
    return next(folder for folder in path.parents if (folder / STAMP).exists())


@pytest.mark.parametrize("what", ["build", "phantom"])
@pytest.mark.parametrize("harm", [flip, cut, Path.unlink])
def test_a_damaged_binary_or_model_is_said_and_made_anew_before_it_is_used(
    harm: Callable[[Path], None], what: str, bench: Bench
) -> None:
    path = bench.made(what)
    right = path.read_bytes()
    harm(path)
    told = [one.text for one in flaws(bench.cache)]
    assert len(told) == 1
    assert path.name in told[0]
    bench.said.clear()
    assert bench.made(what).read_bytes() == right
    assert f"is damaged ({told[0]}), so it is made anew" in bench.said[0]
    assert list(flaws(bench.cache)) == []


@pytest.mark.real
def test_one_bit_of_a_real_llama_server_is_found_and_no_second_one_is_needed(tmp_path: Path, real_server: Path) -> None:
    def made(said: list[str]) -> Path:
        def copy(to: Path) -> None:
            shutil.copytree(real_server.parent, to / "bin", symlinks=True)

        return Cache(tmp_path).entry("build", {"name": "b11434"}, copy, said.append, sealed=True) / "bin/llama-server"

    server = made([])
    data = bytearray(server.read_bytes())
    data[len(data) // 3] ^= 4
    server.write_bytes(data)
    said: list[str] = []
    assert made(said).read_bytes() == real_server.read_bytes()
    assert "bin/llama-server is not what it was when it was made" in said[0]
    assert made(said).exists()
    assert len(said) == 1


@pytest.mark.parametrize("what", ["build", "phantom"])
@pytest.mark.parametrize("harm", [flip, cut])
def test_a_damaged_seal_is_no_seal(harm: Callable[[Path], None], what: str, bench: Bench) -> None:
    seal = entry_of(bench.made(what)) / SEAL
    harm(seal)
    bench.said.clear()
    bench.made(what)
    assert "so it is made anew" in bench.said[0]
    assert json.loads(seal.read_text())["version"] == 1


@pytest.mark.parametrize("harm", [flip, cut, lambda path: path.write_bytes(b"\xff\0")])
def test_a_damaged_stamp_is_told_and_written_anew_without_another_build(
    harm: Callable[[Path], None], bench: Bench
) -> None:
    made = bench.build()
    stamp = entry_of(made.server) / STAMP
    right = stamp.read_bytes()
    harm(stamp)
    assert "stamp" in next(flaws(bench.cache)).text
    bench.said.clear()
    assert (bench.build(), bench.said) == (made, [])
    assert stamp.read_bytes() == right


@pytest.mark.parametrize("what", ["build", "phantom"])
def test_an_entry_of_a_newer_version_is_refused_and_left(what: str, bench: Bench) -> None:
    path = bench.made(what)
    seal = entry_of(path) / SEAL
    seal.write_text('{"version": 2, "blocks": [["bin", "xxh3"]]}')
    with pytest.raises(CacheError, match=r"made by a newer pytest-mtp .*update pytest-mtp, or delete that folder"):
        bench.made(what)
    assert path.exists()
    assert "made by a newer pytest-mtp" in next(flaws(bench.cache)).text


def test_an_entry_of_an_older_version_is_used_as_it_is_and_watched_from_then_on(bench: Bench) -> None:
    path = bench.build().server
    (entry_of(path) / SEAL).unlink()
    bench.said.clear()
    bench.build()
    assert bench.said == []
    flip(path)
    bench.build()
    assert "llama-server is not what it was" in bench.said[0]


@contextmanager
def read_only(root: Path) -> Iterator[None]:
    """A cache on a mount that cannot be written; root ignores modes."""
    bind = subprocess.run(["mount", "--bind", "-o", "ro", root, root], capture_output=True, check=False, text=True)
    if bind.returncode != 0:
        pytest.skip(f"nothing can be mounted here: {bind.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", root], check=True)


def test_a_cache_that_cannot_be_written_is_read_and_what_is_damaged_in_it_is_not_used(bench: Bench) -> None:
    made = bench.build()
    with read_only(bench.cache.root):
        assert bench.build() == made
    flip(made.server)
    with read_only(bench.cache.root), pytest.raises(CacheError, match=r"cannot be made: .*Read-only file system"):
        bench.build()


def test_half_an_entry_of_a_killed_process_is_made_anew_and_its_lock_is_free(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _HALF, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as maker:
        assert maker.stdout is not None
        assert maker.stdout.readline() == "making\n"
        maker.send_signal(signal.SIGKILL)
        maker.wait()
    assert [path.name for path in tmp_path.glob("thing/*/*")] == ["half"]
    assert len(list(tmp_path.glob("thing/*.lock"))) == 1
    said: list[str] = []
    folder = Cache(tmp_path).entry("thing", {"a": 1}, lambda to: (to / "whole").touch(), said.append, sealed=True)
    assert (sorted(path.name for path in folder.iterdir()), said) == ([STAMP, SEAL, "whole"], [])


def test_a_lock_that_a_dead_machine_left_with_its_number_in_it_keeps_nobody_out(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    lock = cache.place("thing", {"a": 1}).with_suffix(".lock")
    lock.parent.mkdir()
    lock.write_text("999999\ngone.example\n")
    said: list[str] = []
    assert cache.entry("thing", {"a": 1}, lambda _: None, said.append).is_dir()
    assert said == []


@pytest.fixture
def disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A mount of the kind that the kernel gives to sshfs."""
    try:
        with network_disk(tmp_path / "disk", request.param) as folder:
            yield folder
    except OSError as error:
        pytest.skip(f"no network file system can be mounted here: {error}")


@pytest.mark.parametrize("disk", ["grant"], indirect=True)
def test_a_cache_on_a_network_file_system_is_said_and_works(disk: Path) -> None:
    said: list[str] = []
    assert network_file_system(disk / "not" / "yet") == KIND
    with Cache(disk).guard(disk / "build" / "b7", said.append):
        assert len(said) == 1
    assert f"the cache {disk / 'build'} is on a network file system ({KIND})" in said[0]
    assert "--mtp-cache-dir" in said[0]


@pytest.mark.parametrize(
    ("disk", "why"), [("refuse", "No locks available"), ("silence", "no whole answer within 0.2 s")], indirect=["disk"]
)
def test_a_network_file_system_that_gives_no_lock_is_a_sentence_and_no_wait(
    disk: Path, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "_ANSWER_S", 0.2)
    with (
        pytest.raises(CacheError, match=rf"No lock is to be had .*{KIND}\): .*{why}.*Name a local folder"),
        Cache(disk).guard(disk / "build" / "b7"),
    ):
        pass


def test_without_a_table_of_mounts_nothing_is_claimed(tmp_path: Path) -> None:
    assert network_file_system(tmp_path, mounts=tmp_path / "none") is None
