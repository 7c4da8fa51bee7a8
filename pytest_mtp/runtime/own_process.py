"""A server process of ours, whichever engine it is: its command, its log, and what is said when it ends by itself."""

import shlex
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pytest_mtp.core.server_log import out_of_memory
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.errors import MeasureError, ServerDied, ServerLate
from pytest_mtp.runtime.process import describe_exit, tail

_POLL_S = 0.05
# A crash closes the connection a moment before the process can be reaped.
_LAST_BREATH_S = 1.0
# What a log says of layers and memory it says while the model loads; what follows may be any amount.
_LOG_BYTES = 8 * 2**20
_WHOLE_TAIL = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnProcess:
    """A process that runs, or did; whoever made it ends it."""

    arm: Arm
    called: str = "server"
    """What it is in a sentence, after its arm."""
    process: subprocess.Popen[bytes]
    command: tuple[str, ...]
    log: Path

    @property
    def pid(self) -> int:
        """The process id, for telemetry; what it starts itself are children of it."""
        return self.process.pid

    @property
    def command_line(self) -> str:
        """The exact command, quoted for a shell."""
        return shlex.join(self.command)

    def tail(self, lines: int = 20) -> str:
        """Read the last lines of its log."""
        return tail(self.log, lines)

    def log_text(self) -> str:
        """Read its log; of one that has no end, the first 8 MiB."""
        with self.log.open("rb") as file:
            return file.read(_LOG_BYTES).decode(errors="replace")

    def check_alive(self, when: str, cause: Exception | None = None) -> None:
        """Raise ``ServerDied`` if the process has ended."""
        returncode = self.process.poll()
        if returncode is not None:
            died = f"The {self.arm.value} {self.called} {describe_exit(returncode)} {when}."
            why = out_of_memory(self.tail(_WHOLE_TAIL))
            message = died if why is None else f"{died} {why}"
            raise ServerDied(message, command=self.command_line, log_tail=self.tail()) from cause

    def await_ready(self, ready: Callable[[], bool], timeout_s: float) -> None:
        """Ask until it is; ServerDied and ServerLate with the end of its log."""
        deadline = time.monotonic() + timeout_s
        while not ready():
            # Dead and late are checked on every turn, also while it answers that it loads.
            self.check_alive("before it was ready")
            if time.monotonic() > deadline:
                message = f"The {self.arm.value} {self.called} was not ready within {timeout_s:g} s."
                raise ServerLate(message, command=self.command_line, log_tail=self.tail())
            time.sleep(_POLL_S)
        # What answers may be another process that holds the port.
        self.check_alive("before it was ready")

    @contextmanager
    def answering(self) -> Iterator[None]:
        """One request; a process that died of it is named as such, with the end of its log."""
        when = "while it answered a request"
        self.check_alive("before it was asked again")
        try:
            yield
        except MeasureError as error:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_LAST_BREATH_S)
            self.check_alive(when, error)
            raise
        except ServerLate as error:
            self.check_alive(when, error)
            raise ServerLate(error.message, command=self.command_line, log_tail=self.tail()) from error
