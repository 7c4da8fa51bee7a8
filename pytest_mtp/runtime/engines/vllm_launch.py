"""A vLLM of our own: started, proven to be the arm that was asked for, and ended.

Written from vLLM's public documentation and tested with a stand-in of the same command line; a real vLLM was never run
by it. Its folder holds ``server.log``, the whole output.
"""

import secrets
import shlex
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pytest_mtp.core.endpoint import Endpoint, Engine
from pytest_mtp.core.engine_answer.knowledge import Knowledge
from pytest_mtp.core.engine_answer.protocol import Told
from pytest_mtp.core.request import Answer, Request
from pytest_mtp.core.server_spec import Arm, ServerSpec
from pytest_mtp.core.serving import address
from pytest_mtp.core.vllm_command import vllm_command
from pytest_mtp.errors import MeasureError, ServerDied, ServerImposter, ServerLate
from pytest_mtp.runtime.child import child_environment
from pytest_mtp.runtime.engines.attached import Attached, attach
from pytest_mtp.runtime.engines.connection import Connection
from pytest_mtp.runtime.engines.protocol import Adapter
from pytest_mtp.runtime.port import available_port
from pytest_mtp.runtime.process import accelerator_environment, describe_exit, server_environment, spawn, stop, tail

_VARIABLES = ("VLLM_*", "HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
_KEY = "VLLM_API_KEY"
_POLL_S = 0.05
_HEALTH_S = 2.0
# A crash closes the connection a moment before the process can be reaped.
_LAST_BREATH_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """A running vLLM; ``serve_vllm`` makes and ends it. It is asked as a llama-server that was started is."""

    attached: Attached
    process: subprocess.Popen[bytes]
    command: tuple[str, ...]
    log: Path
    environment: dict[str, str]
    """The variables it sees that can change its speed."""
    load_s: float

    @property
    def arm(self) -> Arm:
        """Which of the two it is."""
        return self.attached.arm

    @property
    def model(self) -> str:
        """The name by which it serves its model."""
        return self.attached.model

    @property
    def client(self) -> Adapter:
        """What is asked beside completions."""
        return self.attached.client

    @property
    def knowledge(self) -> Knowledge:
        """What it tells."""
        return self.attached.knowledge

    @property
    def pid(self) -> int:
        """The process id, for telemetry; its workers are children of it."""
        return self.process.pid

    @property
    def command_line(self) -> str:
        """The exact command, quoted for a shell."""
        return shlex.join(self.command)

    def ask(self, request: Request) -> Answer:
        """Ask for one completion; a server that died of it is named as such, with the end of its log."""
        return self.told(request).answer()

    def told(self, request: Request) -> Told:
        """The same, with what is not told left out."""
        try:
            return self.client.complete(request)
        except (MeasureError, ServerLate) as error:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_LAST_BREATH_S)
            _check_alive(self.process, self, "while it answered a request", error)
            raise

    def log_text(self) -> str:
        """Read its whole log."""
        return self.log.read_text(errors="replace")

    def tail(self, lines: int = 20) -> str:
        """Read the last lines of its log."""
        return tail(self.log, lines)


@dataclass(frozen=True, slots=True)
class _Starting:
    """What is known of a server before it is ready."""

    arm: Arm
    command_line: str
    log: Path

    def tail(self) -> str:
        return tail(self.log)


@contextmanager
def serve_vllm(
    binary: str,
    spec: ServerSpec,
    folder: Path,
    *,
    start_timeout_s: float,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Launched]:
    """Run ``vllm serve`` for the ``with`` block: own port, ready, and proven to be the arm of ``spec``.

    Raises FlagError for what vLLM has no word for; ServerDied, ServerLate or ServerImposter with the log's end.
    """
    port = available_port(spec.host, spec.port or 0)
    command = vllm_command(spec, port, binary)
    folder.mkdir(parents=True, exist_ok=True)
    starting = _Starting(spec.arm, shlex.join(command), folder / "server.log")
    told = {name: one for name, one in {**child_environment(_VARIABLES), **environment}.items() if name != _KEY}
    # By the environment: an argument could be read by every user of the machine.
    key = secrets.token_hex(16)
    with ExitStack() as stack:
        begin = time.monotonic()
        process = spawn(command, starting.log, {**server_environment(), **told, _KEY: key})
        stack.callback(stop, process)
        url = address(spec.host, port)
        _await_ready(url, process, starting, start_timeout_s)
        attached = _proven(stack, Endpoint(arm=spec.arm, url=url, engine=Engine.VLLM), key, starting)
        yield Launched(
            attached=attached,
            process=process,
            command=command,
            log=starting.log,
            environment={**accelerator_environment(), **told},
            load_s=time.monotonic() - begin,
        )


def _await_ready(url: str, process: subprocess.Popen[bytes], starting: _Starting, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    with Connection(url, status_s=_HEALTH_S) as connection:
        while not connection.ready("/health"):
            # Dead and late are checked on every turn.
            _check_alive(process, starting, "before it was ready")
            if time.monotonic() > deadline:
                message = f"The {starting.arm.value} vLLM was not ready within {timeout_s:g} s."
                raise ServerLate(message, command=starting.command_line, log_tail=starting.tail())
            time.sleep(_POLL_S)


def _proven(stack: ExitStack, endpoint: Endpoint, key: str, starting: _Starting) -> Attached:
    try:
        return stack.enter_context(attach(endpoint, key))
    except ServerImposter as error:
        raise ServerImposter(error.message, command=starting.command_line, log_tail=starting.tail()) from error


def _check_alive(
    process: subprocess.Popen[bytes], server: Launched | _Starting, when: str, cause: Exception | None = None
) -> None:
    returncode = process.poll()
    if returncode is not None:
        message = f"The {server.arm.value} vLLM {describe_exit(returncode)} {when}."
        raise ServerDied(message, command=server.command_line, log_tail=server.tail()) from cause
