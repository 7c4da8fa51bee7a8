"""The pod's server in the browser here: a tunnel that is opened again when it breaks."""

from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pytest_mtp.core.runpod.ssh_words import Way
from pytest_mtp.core.serving import LOOPBACK, address
from pytest_mtp.runtime.client import Client
from pytest_mtp.runtime.runpod.shell import tunnelled

if TYPE_CHECKING:
    import subprocess


class Tunnel(AbstractContextManager["Tunnel"]):
    """A port of loopback here that leads to one of the pod's loopback."""

    def __init__(self, local_port: int, port: int, log: Path) -> None:
        self.url = address(LOOPBACK, local_port)
        self._ports = (local_port, port)
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def ensure(self, way: Way) -> None:
        """Open it where it is not open."""
        if self._process is not None and self._process.poll() is None:
            return
        self._stack.close()
        self._process = self._stack.enter_context(tunnelled(way, *self._ports, self._log))

    def answers(self) -> bool:
        """Whether a server at its other end is ready."""
        with Client(self.url) as client:
            return client.health()
