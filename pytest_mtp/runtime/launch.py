"""How the server of a seat is come by: started from a build, by vLLM, or found where somebody else started it."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.core.endpoint import Endpoint
from pytest_mtp.core.server_spec import ServerSpec
from pytest_mtp.runtime.engines.protocol import Running
from pytest_mtp.runtime.sandbox import Sandbox


class Launch(Protocol):
    """One way to a server; what it raises is a ServerError with the end of its log, where there is one."""

    @property
    def ours(self) -> bool:
        """Whether this run starts it, so that an arm that fails is a finding about what was started."""

    @property
    def identity(self) -> str:
        """What tells this server from another one of the same arm."""

    def run(
        self, folder: Path, start_timeout_s: float, environment: Mapping[str, str]
    ) -> AbstractContextManager[Running]:
        """A server that is up and proven to be its arm, for the ``with`` block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnLlamaServer:
    """A llama-server of one's own, started for every block."""

    binary: Path
    capabilities: Capabilities
    spec: ServerSpec
    arguments: tuple[str, ...]
    """The spec in the spelling of this binary."""
    sandbox: Sandbox | None = None
    """Keeps it from network and home."""

    @property
    def ours(self) -> bool:
        """It is started here."""
        return True

    @property
    def identity(self) -> str:
        """Its flags."""
        return " ".join(self.arguments)

    def run(
        self, folder: Path, start_timeout_s: float, environment: Mapping[str, str]
    ) -> AbstractContextManager[Running]:
        """Start it."""
        from pytest_mtp.runtime.server import serve

        return serve(
            self.binary,
            self.arguments,
            self.spec,
            folder,
            capabilities=self.capabilities,
            start_timeout_s=start_timeout_s,
            environment=environment,
            sandbox=self.sandbox,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnVllm:
    """A vLLM of one's own, started for every block."""

    binary: str
    spec: ServerSpec

    @property
    def ours(self) -> bool:
        """It is started here."""
        return True

    @property
    def identity(self) -> str:
        """All that it was asked for."""
        return repr(self.spec)

    def run(
        self, folder: Path, start_timeout_s: float, environment: Mapping[str, str]
    ) -> AbstractContextManager[Running]:
        """Start it."""
        from pytest_mtp.runtime.engines.vllm_launch import serve_vllm

        return serve_vllm(self.binary, self.spec, folder, start_timeout_s=start_timeout_s, environment=environment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A server that ran before and will run on: every block meets the same life of it."""

    endpoint: Endpoint

    @property
    def ours(self) -> bool:
        """Others started it, use it, and may end it."""
        return False

    @property
    def identity(self) -> str:
        """Where it answers."""
        return self.endpoint.url

    def run(
        self, folder: Path, start_timeout_s: float, environment: Mapping[str, str]
    ) -> AbstractContextManager[Running]:
        """Connect to it, with the key of the environment."""
        from pytest_mtp.runtime.engines.attached import attach, endpoint_key

        return attach(self.endpoint, endpoint_key())
