"""A vLLM of our own: started, proven to be the arm that was asked for, and ended.

Written from vLLM's public documentation and tested with a stand-in of the same command line; a real vLLM was never run
by it. Its folder holds ``server.log``, the whole output.
"""

import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pytest_mtp.core.endpoint import Endpoint, Engine
from pytest_mtp.core.engine_answer.knowledge import Knowledge
from pytest_mtp.core.engine_answer.protocol import Told
from pytest_mtp.core.request import Answer, Request
from pytest_mtp.core.server_spec import ServerSpec
from pytest_mtp.core.serving import address
from pytest_mtp.core.vllm_command import vllm_command
from pytest_mtp.errors import ServerImposter, SettingsError
from pytest_mtp.runtime.child import child_environment, ending, run_text
from pytest_mtp.runtime.engines.attached import Attached, attach
from pytest_mtp.runtime.engines.connection import Connection
from pytest_mtp.runtime.engines.protocol import Adapter
from pytest_mtp.runtime.own_process import OwnProcess
from pytest_mtp.runtime.port import available_port
from pytest_mtp.runtime.process import accelerator_environment, server_environment, spawn, stop

_VARIABLES = ("VLLM_*", "HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
_KEY = "VLLM_API_KEY"
_CALLED, _COMMAND = "vLLM", "vllm"
_HEALTH_S = 2.0
_VERSION_S = 120.0
"""vLLM imports its whole self to say its version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched(OwnProcess):
    """A running vLLM; ``serve_vllm`` makes and ends it. It is asked as a llama-server that was started is."""

    attached: Attached
    environment: dict[str, str]
    """The variables it sees that can change its speed."""
    load_s: float

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

    def ask(self, request: Request) -> Answer:
        """Ask for one completion; a server that died of it is named as such, with the end of its log."""
        return self.told(request).answer()

    def told(self, request: Request) -> Told:
        """The same, with what is not told left out."""
        with self.answering():
            return self.client.complete(request)


def find_vllm() -> str | None:
    """The ``vllm`` of this environment; ``None`` where there is none."""
    return shutil.which(_COMMAND)


def vllm_version(binary: str) -> str:
    """The last line of its ``--version``; SettingsError where it cannot be run."""
    try:
        told = run_text([binary, "--version"], _seen(), timeout_s=_VERSION_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SettingsError(f"{binary} --version fails, so vLLM cannot be used: {error}.") from error
    if told.returncode != 0:
        raise SettingsError(
            f"{binary} --version {ending(told.returncode)}, so vLLM cannot be used: {_last_line(told.stderr)}"
        )
    return _last_line(told.stdout) or "unknown"


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]


def _seen() -> dict[str, str]:
    """What a vLLM sees of our environment."""
    return server_environment() | child_environment(_VARIABLES)


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
    told = {name: one for name, one in {**child_environment(_VARIABLES), **environment}.items() if name != _KEY}
    # By the environment: an argument could be read by every user of the machine.
    key = secrets.token_hex(16)
    with ExitStack() as stack:
        begin = time.monotonic()
        log = folder / "server.log"
        process = spawn(command, log, {**server_environment(), **told, _KEY: key})
        stack.callback(stop, process)
        own = OwnProcess(arm=spec.arm, called=_CALLED, process=process, command=command, log=log)
        url = address(spec.host, port)
        with Connection(url, status_s=_HEALTH_S) as connection:
            own.await_ready(lambda: connection.ready("/health"), start_timeout_s)
        yield Launched(
            arm=own.arm,
            called=_CALLED,
            process=process,
            command=command,
            log=log,
            attached=_proven(stack, Endpoint(arm=spec.arm, url=url, engine=Engine.VLLM), key, own),
            environment={**accelerator_environment(), **told},
            load_s=time.monotonic() - begin,
        )


def _proven(stack: ExitStack, endpoint: Endpoint, key: str, own: OwnProcess) -> Attached:
    try:
        return stack.enter_context(attach(endpoint, key))
    except ServerImposter as error:
        raise ServerImposter(error.message, command=own.command_line, log_tail=own.tail()) from error
