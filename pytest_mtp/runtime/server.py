"""One llama-server: started, proven to be the arm that was asked for, and ended.

Files in the folder of a server: ``server.log``, its whole output, and
``api-key`` while it runs.
"""

import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.core.request import Answer, Request
from pytest_mtp.core.secret import Secret
from pytest_mtp.core.server_log import lost_its_port
from pytest_mtp.core.server_spec import Arm, ServerSpec
from pytest_mtp.core.serving import address
from pytest_mtp.errors import CacheError, MeasureError, ServerDied, ServerImposter, ServerLate
from pytest_mtp.runtime.client import Client
from pytest_mtp.runtime.door import Door
from pytest_mtp.runtime.own_process import OwnProcess
from pytest_mtp.runtime.port import available_port
from pytest_mtp.runtime.process import accelerator_environment, server_environment, spawn, stop, stop_all
from pytest_mtp.runtime.sandbox import Opening, Sandbox, confined, program_files

_PORT_TRIES = 3
_LOG_BYTES = 64 * 1024
_MEND = "Free space there, or set TMPDIR to another folder."
_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Server(OwnProcess):
    """A running server; ``serve`` makes and ends it."""

    client: Client
    port: int
    model: str
    """The path of its model."""
    environment: dict[str, str]
    """The ``GGML_*``, ``CUDA_*`` and like variables that it sees: they can change its speed."""
    load_s: float = 0.0
    """From the start of the process until it was ready."""
    keeper: int | None = None
    """The process that listens, where that is not the one that was started: inside a sandbox."""

    @property
    def pid(self) -> int:
        """The process id of the server itself, for telemetry."""
        return self.process.pid if self.keeper is None else self.keeper

    @property
    def place(self) -> str:
        """Where it listens, in words."""
        return f"port {self.port}" if self.keeper is None else "its socket"

    def ask(self, request: Request) -> Answer:
        """Ask for one completion; a server that died of it is named as such, with the end of its log."""
        with self.answering():
            return self.client.complete(request)


@contextmanager
def serve(  # noqa: PLR0913 - each is one thing that only the caller knows
    binary: Path,
    arguments: tuple[str, ...],
    spec: ServerSpec,
    folder: Path,
    *,
    start_timeout_s: float,
    capabilities: Capabilities | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
    sandbox: Sandbox | None = None,
) -> Iterator[Server]:
    """Run the server for the ``with`` block: own port, ready, and proven to be the arm of ``spec``.

    ``arguments`` are those of ``negotiate``; ``environment`` is added to the variables that every server sees. In a
    ``sandbox`` it has no network: its host is ``door.HOST``, by which it is reached.
    Raises ServerDied, ServerLate or ServerImposter, each with the log's end.
    """
    _make_room(folder)
    with ExitStack() as stack:
        api_key, key_arguments = stack.enter_context(_api_key(folder, capabilities))
        command = (str(binary), *arguments, *key_arguments)
        launch = _Launch(command, spec, folder / "server.log", start_timeout_s, api_key, environment, sandbox)
        server = launch.ready(stack)
        _prove(server, spec)
        yield server


def _make_room(folder: Path) -> None:
    """Make the folder of a server; CacheError where its log finds no room: a full disk is no finding about an arm."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise CacheError(f"The folder {folder} of a server cannot be made: {error}. {_MEND}") from error
    if free < _LOG_BYTES:
        raise CacheError(f"The folder {folder} of a server has no room left for its log. {_MEND}")


@contextmanager
def _api_key(folder: Path, capabilities: Capabilities | None) -> Iterator[tuple[str | None, tuple[str, ...]]]:
    """Make a key by file: an argument could be read by every user of the machine."""
    if capabilities is None or not capabilities.offers("--api-key-file"):
        yield None, ()
        return
    key, path = Secret(secrets.token_hex(16)), folder / "api-key"
    path.touch(mode=0o600)
    path.write_text(f"{key}\n")
    try:
        yield key, ("--api-key-file", str(path))
    finally:
        path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class _Launch:
    """A server that is to be started, on whichever port is free."""

    command: tuple[str, ...]
    spec: ServerSpec
    log: Path
    timeout_s: float
    api_key: str | None
    environment: Mapping[str, str]
    sandbox: Sandbox | None = None

    def ready(self, stack: ExitStack, tries: int = _PORT_TRIES) -> Server:
        """Start it and wait until it is ready; once more where another process was faster to take the port."""
        begin = time.monotonic()
        server = self._started(stack)
        try:
            server.await_ready(server.client.health, self.timeout_s)
        except ServerDied as died:
            if tries <= 1 or self.spec.port is not None or not lost_its_port(died.log_tail):
                raise
            return self.ready(stack, tries - 1)
        return replace(server, load_s=time.monotonic() - begin)

    def _started(self, stack: ExitStack) -> Server:
        if self.sandbox is not None:
            return self._started_inside(stack, self.sandbox)
        port = available_port(self.spec.host, 0) if self.spec.port is None else self.spec.port
        environment = {**server_environment(), **self.environment}
        command = (*self.command, "--port", str(port))
        process = spawn(command, self.log, environment)
        stack.callback(stop, process)
        # Closed before the process is stopped: an open connection can keep it from ending.
        client = stack.enter_context(Client(address(self.spec.host, port), self.api_key))
        return Server(
            client=client,
            process=process,
            command=command,
            log=self.log,
            port=port,
            arm=self.spec.arm,
            model=self.spec.model,
            environment={**accelerator_environment(), **self.environment},
        )

    def _started_inside(self, stack: ExitStack, sandbox: Sandbox) -> Server:
        """The same without network; it can be asked once its socket is there."""
        door = stack.enter_context(Door(self.log.parent / "door"))
        opening = Opening(readable=program_files(self.command), door=door.folder)
        command, seen = confined(sandbox, self.command, {**server_environment(), **self.environment}, opening)
        process = spawn(command, self.log, seen)
        stack.callback(stop_all, process)
        own = OwnProcess(arm=self.spec.arm, process=process, command=tuple(command), log=self.log)
        own.await_ready(lambda: door.keeper() is not None, self.timeout_s)
        client = stack.enter_context(Client("http://server", self.api_key, door.path))
        return Server(
            client=client,
            process=process,
            command=own.command,
            log=self.log,
            port=0,
            arm=self.spec.arm,
            model=self.spec.model,
            environment={**accelerator_environment(), **self.environment},
            keeper=door.keeper(),
        )


def _prove(server: Server, spec: ServerSpec) -> None:
    """Raise ``ServerImposter`` unless what answers is our process, with our model, slots and speculation."""
    try:
        complaint = _complaint(server, spec)
    except MeasureError as error:
        server.check_alive("right after it was ready", error)
        complaint = f"it cannot prove what it is: {str(error).rstrip('.')}"
    except ServerLate as error:
        server.check_alive("right after it was ready", error)
        raise ServerLate(error.message, command=server.command_line, log_tail=server.tail()) from error
    if complaint is not None:
        message = f"What answers on {server.place} is not the {spec.arm.value} server that was started: {complaint}."
        raise ServerImposter(message, command=server.command_line, log_tail=server.tail())


def _complaint(server: Server, spec: ServerSpec) -> str | None:
    if not _listens(server):
        return "the port belongs to another process (a wrapper script must exec the binary)"
    props = server.client.props()
    path, slots = os.fsdecode(str(props.get("model_path", "")).encode(errors="replace")), props.get("total_slots")
    if not _same_file(path, spec.model):
        return f"it serves the model {path[:_SHOWN] or 'of no name'}, not {spec.model}"
    if slots != spec.parallel:
        return f"it has {slots!r:.{_SHOWN}} slots, not {spec.parallel}"
    wanted = spec.arm is Arm.MTP
    found = [slot.get("speculative") for slot in server.client.slots()]
    if found != [wanted] * spec.parallel:
        return f"/slots says speculative {found!r:.{_SHOWN}}, and this arm needs {wanted} in each slot"
    return None


def _same_file(said: str, ours: str) -> bool:
    try:
        return Path(said).resolve() == Path(ours).resolve()
    except (ValueError, OSError, RuntimeError):  # what was said can be no path at all
        return False


def _listens(server: Server) -> bool:
    import psutil

    pid, port = server.process.pid, server.port
    try:
        if server.keeper is not None:
            return server.keeper in {one.pid for one in psutil.Process(pid).children(recursive=True)}
        connections = psutil.Process(pid).net_connections(kind="tcp")
    except psutil.NoSuchProcess:
        return False
    return any(one.status == psutil.CONN_LISTEN and one.laddr.port == port for one in connections)
