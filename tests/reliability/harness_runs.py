"""Whole runs of pytest in processes of their own, over the fake llama-server, whose times are exact."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import psutil
from filelock import FileLock

from tests.fakes.gguf_file import small_model
from tests.plugin.gates import fake_profile, without_further_suites
from tests.waiting import until

DEADLINE_S = 60.0

_FAKE = Path(__file__).parents[1] / "fakes" / "llama_server.py"
# The n-th life of a server has the fault of the n-th line; the last line is that of all further ones.
_SERVER = """#!/bin/sh
fault=honest
case " $* " in *" --port "*)
    echo $$ >> {starts}
    fault=$(head -n "$(wc -l < {starts})" {faults} | tail -n 1) ;;
esac
exec {python} {fake} --fault "$fault" "$@"
"""
# One step of a build: told in a file, then as long as another file is missing, then done.
_COMPILER = """#!/bin/sh
echo $$ >> {steps}
while [ ! -e {go} ]; do sleep 0.05; done
mkdir -p bin
cp {server} bin/llama-server
"""
_CMAKE = """
cmake_minimum_required(VERSION 3.18)
project(quick NONE)
add_custom_target(llama-server COMMAND sh "{compiler}" VERBATIM)
"""


# What the memory gives is asked before every block, for half of the time that a run of these takes.
_QUICK = """
from pytest_mtp.runtime import bandwidth

bandwidth.read_bandwidth = lambda: 20e9
"""


@dataclass(frozen=True, slots=True)
class Started:
    """A run of pytest that goes on."""

    process: subprocess.Popen[bytes]
    output: Path

    @property
    def said(self) -> str:
        """What it has printed so far."""
        return self.output.read_text(errors="replace") if self.output.is_file() else ""

    def ended(self) -> int:
        """The exit status, once it is there."""
        return self.process.wait(DEADLINE_S)


@dataclass(frozen=True, slots=True)
class Rig:
    """A folder with a fake server, a model, a profile and everything else that a run writes to."""

    folder: Path
    runs: list[subprocess.Popen[bytes]] = field(default_factory=list)
    """All that were started."""

    @property
    def work(self) -> Path:
        """Where pytest runs."""
        return self.folder / "work"

    @property
    def cache(self) -> Path:
        """The cache of the runs."""
        return self.folder / "cache"

    @property
    def temporary(self) -> Path:
        """TMPDIR of the runs: locks, logs of servers, files of pytest."""
        return self.folder / "tmp"

    def environment(self, **more: str) -> dict[str, str]:
        """What the runs see; nothing of this run's own plugins and options."""
        packages = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        usual = {**packages, "HOME": str(self.folder / "home"), "TMPDIR": str(self.temporary)}
        return usual | {"LANG": "C.UTF-8"} | more

    def arguments(self, *more: str) -> list[str]:
        """A command that measures with the fake server; ``more`` comes last, so that it wins."""
        return [
            *(sys.executable, "-m", "pytest", "-p", "quick", *without_further_suites()),
            *(
                "--mtp",
                f"--mtp-profile={self.folder / 'fake.toml'}",
                f"--mtp-source=bin:{self.folder / 'llama-server'}",
            ),
            *(f"--mtp-model={self.folder / 'model.gguf'}", f"--mtp-cache-dir={self.cache}"),
            *more,
        ]

    def faults(self, *names: str) -> None:
        """The fault of each life of a server, counted from now."""
        (self.folder / "faults").write_text("".join(f"{name}\n" for name in names))
        (self.folder / "starts").write_text("")

    def starts(self) -> list[int]:
        """The process ids of the servers that were started."""
        return _numbers(self.folder / "starts")

    def start(
        self,
        *more: str,
        environment: Mapping[str, str] = MappingProxyType({}),
        name: str = "run",
        terminal: int | None = None,
        before: tuple[str, ...] = (),
    ) -> Started:
        """Start a run in a session of its own; ``terminal`` is the end that it gets of one, ``before`` starts it."""
        output = self.folder / f"{name}.out"
        with output.open("wb") as file:
            # It becomes the terminal of the session when the first program of it opens it.
            opened = () if terminal is None else ("sh", "-c", 'exec "$@" <>"$0" >&0 2>&1', os.ttyname(terminal))
            process = subprocess.Popen(
                [*opened, *before, *self.arguments(*more)],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=self.environment(**environment),
                cwd=self.work,
                start_new_session=True,
            )
        self.runs.append(process)
        return Started(process, output)

    def run(self, *more: str, **environment: str) -> tuple[int, str]:
        """Run to the end; returns exit status and output."""
        started = self.start(*more, environment=environment)
        return started.ended(), started.said

    def await_server(self, number: int) -> None:
        """Wait until the ``number``-th server has somebody at its port."""
        until(lambda: len(self.starts()) >= number, f"server {number} was started")
        until(lambda: _connected(self.starts()[number - 1]), f"server {number} was asked")

    def quick_source(self) -> str:
        """A tree whose build is one step, which waits until ``let_build``; as ``--mtp-source`` takes it."""
        tree = self.folder / "tree"
        tree.mkdir()
        compiler = tree / "compiler"
        compiler.write_text(_COMPILER.format(**self._quoted("steps", "go"), server=_q(self.folder / "llama-server")))
        (tree / "CMakeLists.txt").write_text(_CMAKE.format(compiler=compiler))
        return f"dir:{tree}"

    def build_steps(self) -> list[int]:
        """The process ids of the steps of builds that were begun."""
        return _numbers(self.folder / "steps")

    def let_build(self) -> None:
        """Let the step of every build end."""
        (self.folder / "go").touch()

    def left(self) -> list[str]:
        """The processes that have anything of this folder in their command."""
        return [" ".join(words) for _, words in _commands() if any(str(self.folder) in word for word in words)]

    def assert_nothing_is_left(self) -> None:
        """No process lives on, and whatever was locked, the device or an entry of the cache, can be had at once."""
        until(lambda: not self.left(), f"these processes ended: {self.left()}")
        locks = list(self.folder.rglob("*.lock"))
        assert locks, "nothing was ever locked"
        for lock in locks:
            with FileLock(lock, timeout=0):
                pass

    def _quoted(self, *names: str) -> dict[str, str]:
        return {name: _q(self.folder / name) for name in names}

    def lay_out(self) -> None:
        """Make everything that a run reads."""
        for folder in (self.work, self.temporary, self.folder / "home"):
            folder.mkdir(parents=True)
        server = self.folder / "llama-server"
        words = {"python": _q(Path(sys.executable)), "fake": _q(_FAKE)}
        server.write_text(_SERVER.format(**self._quoted("starts", "faults"), **words))
        server.chmod(0o755)
        (self.folder / "model.gguf").write_bytes(small_model())
        (self.folder / "fake.toml").write_text(fake_profile(a=3.9, b=3.9))
        (self.work / "quick.py").write_text(_QUICK)
        self.faults("honest")


@contextmanager
def laid_out(folder: Path) -> Iterator[Rig]:
    """A rig; whatever still runs of it in the end is killed."""
    rig = Rig(folder)
    rig.lay_out()
    try:
        yield rig
    finally:
        for pid, words in _commands():
            if any(str(folder) in word for word in words):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for run in rig.runs:
            run.wait(DEADLINE_S)


def _commands() -> Iterator[tuple[int, list[str]]]:
    for process in psutil.process_iter(["pid", "cmdline"]):
        yield process.info["pid"], process.info["cmdline"] or []


def _connected(pid: int) -> bool:
    try:
        return any(one.status == psutil.CONN_ESTABLISHED for one in psutil.Process(pid).net_connections("tcp"))
    except psutil.NoSuchProcess:
        return False


def _numbers(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().splitlines()] if path.is_file() else []


def _q(path: Path) -> str:
    return shlex.quote(str(path))
