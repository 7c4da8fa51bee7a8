"""A llama-server that somebody else started, of upstream or any fork.

It tells the most: its own clock, its drafts with every answer, and whether its slots speculate.
"""

from pytest_mtp.core.endpoint import Endpoint, Engine
from pytest_mtp.core.engine_answer.knowledge import DraftSource, Knowledge
from pytest_mtp.core.engine_answer.llama_server import LlamaProps, llama_props, speculative_slots, told_of
from pytest_mtp.core.engine_answer.protocol import Clock, Told
from pytest_mtp.core.request import Request
from pytest_mtp.errors import MeasureError, ServerImposter
from pytest_mtp.runtime.client import Client
from pytest_mtp.runtime.engines.connection import Connection

_COUNTED = "llamacpp:spec_decode_"


def recognise(connection: Connection, endpoint: Endpoint) -> "LlamaServer | None":
    """Its adapter; ServerImposter where it serves another model than the endpoint names."""
    doc = connection.look("/props")
    props = None if doc is None else llama_props(doc)
    if props is None:
        return None
    if endpoint.model not in (None, props.model, props.alias):
        raise ServerImposter(f"{endpoint.url} serves {props.model or 'a model of no name'}, not {endpoint.model}.")
    return LlamaServer(Client(connection.url, connection.api_key), props)


class LlamaServer:
    """The adapter of one llama-server."""

    def __init__(self, client: Client, props: LlamaProps) -> None:
        self._client, self._props = client, props

    @property
    def knowledge(self) -> Knowledge:
        """What this server tells: proof and places only where /slots and /metrics are on."""
        return Knowledge(
            engine=Engine.LLAMA_SERVER,
            clock=Clock.SERVER,
            drafts=DraftSource.PER_REQUEST,
            per_position=self._counts_drafts(),
            speculation_proof=self.speculative() is not None,
            ignores_eos=True,
            cache_off=True,
            counts_tokens=True,
        )

    @property
    def version(self) -> str:
        """The build, as /props says it."""
        return self._props.build

    @property
    def model(self) -> str:
        """The path of its model."""
        return self._props.model or self._props.alias

    def complete(self, request: Request) -> Told:
        """Ask for one completion; times and drafts are the server's own."""
        return told_of(self._client.complete(request))

    def speculative(self) -> bool | None:
        """Whether its slots speculate; ``None`` where /slots is off or does not say."""
        try:
            return speculative_slots(self._client.slots())
        except MeasureError:
            return None

    def tokens(self, text: str) -> list[int]:
        """The ids of a text, special tokens in it included."""
        return self._client.tokens(text)

    def accepted_per_position(self) -> tuple[int, ...] | None:
        """Accepted drafts by place since the server's start; ``None`` where /metrics is off, and before the first."""
        try:
            return self._client.accepted_per_position()
        except MeasureError:
            return None

    def close(self) -> None:
        """Drop its own connection."""
        self._client.close()

    def _counts_drafts(self) -> bool:
        """Whether /metrics is on, of a build that counts drafts there; the places come with the first draft."""
        try:
            return any(name.startswith(_COUNTED) for name in self._client.counters())
        except MeasureError:
            return False
