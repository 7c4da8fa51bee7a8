"""Into a pod and out of it: commands by ssh, files by rsync, a port by a tunnel."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pytest_mtp.core.runpod.ssh_words import Way
from pytest_mtp.errors import InputError, RentalError
from pytest_mtp.runtime.child import Finished, child_environment, run_text
from pytest_mtp.runtime.process import spawn, stop
from pytest_mtp.runtime.runpod.heed import check_interrupted
from pytest_mtp.runtime.runpod.key_pair import ENVIRONMENT

UNREACHED = 255
"""What ssh itself ends with, where the pod did not."""
_COMMAND_S = 60.0
_COPY_S = 900.0


@dataclass(frozen=True, slots=True)
class Shell:
    """One pod, entered anew for each command: a connection that breaks costs one look."""

    way: Way

    def run(self, words: str, timeout_s: float = _COMMAND_S) -> Finished:
        """Run shell words; ``UNREACHED`` where the pod cannot be entered or does not answer in time."""
        return _run(self.way.command(words), timeout_s)

    def checked(self, words: str) -> None:
        """The same; RentalError where they fail."""
        _checked(self.run(words), f"A command failed in the pod ({words.split(maxsplit=1)[0]})")

    def send(self, path: Path, to: str) -> None:
        """Copy a file to a place in the pod."""
        _checked(_run(self.way.send(str(path), to), _COPY_S), f"{path.name} cannot be copied into the pod")

    def fetch(self, folder: str, to: Path) -> None:
        """Copy a folder's files from the pod."""
        try:
            to.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{to} cannot be made: {error}. Name another folder with --out.") from error
        _checked(_run(self.way.fetch(folder, str(to)), _COPY_S), "The results cannot be copied from the pod")


@contextmanager
def tunnelled(way: Way, local_port: int, port: int, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A port of loopback here that is one of the pod's loopback, for the block."""
    process = spawn(way.tunnel(local_port, port), log, child_environment(ENVIRONMENT))
    try:
        check_interrupted()
        yield process
    finally:
        stop(process)


def _run(command: Sequence[str], timeout_s: float) -> Finished:
    try:
        finished = run_text(command, child_environment(ENVIRONMENT), timeout_s=timeout_s)
    except subprocess.TimeoutExpired:
        finished = Finished(UNREACHED, "", f"no end within {timeout_s:.0f} s")
    except OSError as error:
        raise RentalError(f"{command[0]} cannot be started: {error.strerror}. Install it.") from error
    check_interrupted()
    return finished


def _checked(finished: Finished, what: str) -> None:
    if finished.returncode != 0:
        last = " ".join(finished.stderr.split())[-300:] or "it said nothing"
        raise RentalError(f"{what}: status {finished.returncode} ({last}).")
