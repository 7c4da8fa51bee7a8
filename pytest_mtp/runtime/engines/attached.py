"""A running server that somebody else started: found, proven to be the arm it is said to be, and asked.

What makes it what it is lies outside: it was started once and not for every block, with flags that only its owner
knows, and others may use it. What it does not tell is said by ``knowledge``.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from types import MappingProxyType

from pytest_mtp.core.endpoint import KEY_VARIABLE, Endpoint, Engine, checked_key
from pytest_mtp.core.engine_answer.knowledge import Knowledge
from pytest_mtp.core.engine_answer.protocol import Told
from pytest_mtp.core.request import Answer, Request
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.errors import MeasureError, ServerImposter, ServerLate
from pytest_mtp.runtime.engines import llama_server, ollama, openai, sglang, vllm
from pytest_mtp.runtime.engines.connection import Connection
from pytest_mtp.runtime.engines.protocol import Adapter, Recogniser

# The one whose answer every other engine can give comes last.
_RECOGNISERS: Mapping[Engine, Recogniser] = MappingProxyType(
    {
        Engine.LLAMA_SERVER: llama_server.recognise,
        Engine.SGLANG: sglang.recognise,
        Engine.OLLAMA: ollama.recognise,
        Engine.VLLM: vllm.recognise,
        Engine.OPENAI: openai.recognise,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """A server that is not ours; ``attach`` makes it. It is asked as a server that was started is."""

    endpoint: Endpoint
    client: Adapter
    knowledge: Knowledge
    pid: int | None = None
    """Not known, so that no process is taken for it."""
    load_s: float = 0.0
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def arm(self) -> Arm:
        """What it is said to be, and proven where it tells."""
        return self.endpoint.arm

    @property
    def model(self) -> str:
        """The name or path by which it serves its model."""
        return self.client.model

    @property
    def command_line(self) -> str:
        """Where it was found; how it was started is not known."""
        version = f" {self.client.version}" if self.client.version else ""
        return f"attached to {self.endpoint.url} ({self.knowledge.engine.label}{version}, {self.model})"

    def ask(self, request: Request) -> Answer:
        """Ask for one completion."""
        return self.told(request).answer()

    def told(self, request: Request) -> Told:
        """Ask for one completion, with what is not told left out."""
        try:
            return self.client.complete(request)
        except ServerLate as error:
            raise ServerLate(error.message, command=self.command_line) from error

    def answering(self) -> AbstractContextManager[None]:
        """Nothing is known of its process."""
        return nullcontext()

    def log_text(self) -> str:
        """Nothing: its log is not ours."""
        return ""

    def tail(self, lines: int = 20) -> str:
        """Nothing: its log is not ours."""
        return ""


def endpoint_key() -> str | None:
    """The key of the servers, from the environment; ``None`` without one, SettingsError for what is no key."""
    return checked_key(os.environ.get(KEY_VARIABLE))


@contextmanager
def attach(endpoint: Endpoint, api_key: str | None = None) -> Iterator[Attached]:
    """Hold a running server for the ``with`` block, proven to be its arm where it tells.

    Raises ServerLate where nothing answers, and ServerImposter for another engine, model or arm.
    """
    with ExitStack() as stack:
        connection = stack.enter_context(Connection(endpoint.url, checked_key(api_key)))
        try:
            adapter = _adapter(connection, endpoint)
            stack.callback(adapter.close)
            attached = Attached(endpoint=endpoint, client=adapter, knowledge=adapter.knowledge)
            _prove(attached)
        except MeasureError as error:
            raise ServerImposter(f"{endpoint.url} does not say what it is: {error}") from error
        yield attached


def _adapter(connection: Connection, endpoint: Endpoint) -> Adapter:
    """The adapter of the engine that the endpoint names, or of the first that recognises it."""
    named = list(Engine) if endpoint.engine is None else [endpoint.engine]
    found = (recognise(connection, endpoint) for engine, recognise in _RECOGNISERS.items() if engine in named)
    adapter = next((one for one in found if one is not None), None)
    if adapter is None:
        wanted = "a server of a known engine" if endpoint.engine is None else endpoint.engine.label
        raise ServerImposter(
            f"What answers at {endpoint.url} is not {wanted}: none of its paths is there. Correct the URL, or name "
            "another engine in front of it."
        )
    return adapter


def _prove(attached: Attached) -> None:
    said, wanted = attached.client.speculative(), attached.arm is Arm.MTP
    if said is None or said is wanted:
        return
    does, needs = ("speculates", "does not") if said else ("does not speculate", "does")
    raise ServerImposter(
        f"The {attached.arm.value} arm's server says that it {does}, and this arm needs one that {needs}.",
        command=attached.command_line,
    )
