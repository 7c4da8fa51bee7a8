"""A Dask cluster of processes on this machine: a scheduler, and boxes that can be killed and halted."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pytest_mtp.runtime.child import die_with_parent
from pytest_mtp.runtime.fleet.dask_cluster import Certificates
from pytest_mtp.runtime.process import tail
from tests.laboratory.acts import BOX, FOLDER

ROOT = Path(__file__).parents[2]
_PATIENCE_S = 120.0
_POLL_S = 0.05


@dataclass(slots=True, kw_only=True)
class Cluster:
    """Its processes, each with its log in the folder."""

    folder: Path
    certificates: Certificates | None = None
    running: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    """By name; ``scheduler`` is one of them."""

    @property
    def address(self) -> str:
        """Of the scheduler, once it is up."""
        import json

        told = json.loads((self.folder / "scheduler.json").read_text(encoding="utf-8"))
        return str(told["address"])

    def start_scheduler(self, port: int = 0) -> None:
        """Back when it listens."""
        file = self.folder / "scheduler.json"
        file.unlink(missing_ok=True)
        protocol = "tcp" if self.certificates is None else "tls"
        words = ["--protocol", protocol, "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
        words += ["--no-show", "--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(file)]
        self._start("scheduler", "dask_scheduler", words)
        self.wait("scheduler", file.exists)

    def start_box(self, name: str, *kinds: str, cards: int = 1, host: str = "127.0.0.1") -> None:
        """A box with so many cards of each kind; it joins by and by. Without ``--host`` it would listen everywhere."""
        resources = ",".join(f"{kind.replace(' ', '_')}={cards}" for kind in kinds)
        words = [self.address, "--name", name, "--nworkers", "1", "--nthreads", str(cards), "--no-nanny"]
        words += ["--memory-limit", "0", "--resources", resources, "--death-timeout", "60"]
        words += ["--no-dashboard", "--dashboard-address", "127.0.0.1:0", *(["--host", host] if host else [])]
        words += ["--local-directory", str(self.folder / name / "dask")]
        self._start(name, "dask_worker", words)

    def kill(self, name: str) -> float:
        """Pull its plug; the time, seconds of the epoch, when it was gone."""
        process = self.running.pop(name)
        process.kill()
        process.wait()
        return time.time()

    def halt(self, name: str) -> None:
        """Have it hang."""
        self.running[name].send_signal(signal.SIGSTOP)

    def resume(self, name: str) -> None:
        """Have it wake up."""
        self.running[name].send_signal(signal.SIGCONT)

    def processes(self, name: str) -> list[str]:
        """Name and pid of every process of a box that lives, whoever its parent is now."""
        import psutil

        mark, found = str(self.folder / name / "tmp"), []
        for one in psutil.process_iter(["status", "environ", "name"]):
            told = one.info
            if told["status"] != psutil.STATUS_ZOMBIE and (told["environ"] or {}).get("TMPDIR") == mark:
                found.append(f"{told['name']} {one.pid}")
        return found

    def wait(self, name: str, until: Callable[[], bool]) -> None:
        """Look until it is so; AssertionError with the end of the log where the process dies before."""
        deadline = time.monotonic() + _PATIENCE_S
        while not until():
            process = self.running.get(name)
            alive = process is not None and process.poll() is None
            if not alive or time.monotonic() > deadline:
                raise AssertionError(f"{name} did not come up:\n{tail(self.folder / name / 'log')}")
            time.sleep(_POLL_S)

    def _start(self, name: str, program: str, words: Sequence[str]) -> None:
        own = self.folder / name
        (own / "tmp").mkdir(parents=True, exist_ok=True)
        # Each its own TMPDIR: the lock of a device, and the mark of the processes, are of one machine.
        told = {
            **os.environ,
            "TMPDIR": str(own / "tmp"),
            "PYTHONPATH": str(ROOT),
            FOLDER: str(self.folder),
            BOX: name,
        }
        command = [sys.executable, "-m", f"distributed.cli.{program}", *words, *self._tls()]
        with (own / "log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                command,
                env=told,
                cwd=own,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - a loaded prctl is safe between fork and exec
            )

    def _tls(self) -> list[str]:
        held = self.certificates
        if held is None:
            return []
        return ["--tls-ca-file", str(held.ca), "--tls-cert", str(held.certificate), "--tls-key", str(held.key)]

    def end(self) -> None:
        """End all of them, the halted ones too."""
        for process in self.running.values():
            process.kill()
        for process in self.running.values():
            process.wait()
        self.running.clear()


@contextmanager
def cluster(folder: Path, certificates: Certificates | None = None) -> Iterator[Cluster]:
    """A cluster with a scheduler and no box; its processes end with the block."""
    found = Cluster(folder=folder, certificates=certificates)
    try:
        found.start_scheduler()
        yield found
    finally:
        found.end()
