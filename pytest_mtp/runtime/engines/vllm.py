"""vLLM, by ``/v1/completions`` and the counters of ``/metrics``: the client's clock, and drafts of lonely requests."""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock

from pytest_mtp.core.endpoint import Endpoint, Engine
from pytest_mtp.core.engine_answer.drafts import Drafts
from pytest_mtp.core.engine_answer.knowledge import DraftSource, Knowledge
from pytest_mtp.core.engine_answer.openai import read_openai
from pytest_mtp.core.engine_answer.protocol import Clock, Told
from pytest_mtp.core.engine_answer.reading import server_sent_events
from pytest_mtp.core.engine_answer.vllm import VllmCounters, between, vllm_counters
from pytest_mtp.core.request import Request
from pytest_mtp.errors import MeasureError
from pytest_mtp.runtime.engines.connection import Connection
from pytest_mtp.runtime.engines.served_model import chosen, openai_models
from pytest_mtp.runtime.engines.token_ids import prompt_ids, token_ids

_OWNER = "vllm"
# The last step is counted after its tokens were sent.
_SETTLE_S = 2.0
_POLL_S = 0.02


def recognise(connection: Connection, endpoint: Endpoint) -> "Vllm | None":
    """Its adapter, where it says a version and owns its models."""
    version = connection.look("/version")
    models = None if version is None else openai_models(connection)
    if version is None or not models or not all(one.get("owned_by") == _OWNER for one in models):
        return None
    return Vllm(connection, str(version.get("version", "")), chosen(endpoint, [str(one.get("id")) for one in models]))


@dataclass(slots=True)
class _Turn:
    """One request under way, and whether any other was at the same time."""

    alone: bool


class Vllm:
    """The adapter of one vLLM."""

    def __init__(self, connection: Connection, version: str, model: str) -> None:
        self._connection, self.version, self.model = connection, version, model
        self._turns: list[_Turn] = []
        self._lock = Lock()

    @property
    def knowledge(self) -> Knowledge:
        """What this server tells: nothing of drafts where its statistics are off."""
        counters = self._counters()
        speculated = counters.speculated
        return Knowledge(
            engine=Engine.VLLM,
            clock=Clock.CLIENT,
            drafts=DraftSource.NOT_TOLD if counters.speculative is None else DraftSource.COUNTERS,
            per_position=speculated is not None and bool(speculated.per_position),
            speculation_proof=counters.speculative is not None,
            ignores_eos=True,
            cache_off=True,
            counts_tokens=True,
        )

    def complete(self, request: Request) -> Told:
        """Ask for one completion, streamed; drafts are told where no other request of ours ran meanwhile."""
        body = self._body(request)
        with self._turn() as turn:
            before = self._counters()
            told = read_openai(self._connection.stream("/v1/completions", body, request.timeout_s, server_sent_events))
            after = self._settled(before, told.tokens) if turn.alone else before
        return replace(told, drafts=_drafts(before, after, told.tokens) if turn.alone else None)

    def speculative(self) -> bool | None:
        """Whether it has counters of speculation; ``None`` where its statistics are off."""
        return self._counters().speculative

    def tokens(self, text: str) -> list[int]:
        """The ids of a text."""
        return token_ids(self._connection, text, {"model": self.model})

    def accepted_per_position(self) -> tuple[int, ...] | None:
        """Accepted drafts by place since the server's start."""
        speculated = self._counters().speculated
        return None if speculated is None else speculated.per_position or None

    def close(self) -> None:
        """Nothing is held."""

    def _body(self, request: Request) -> dict[str, object]:
        prompt = request.prompt
        named = {"model": self.model}
        body: dict[str, object] = {
            **named,
            "prompt": prompt if isinstance(prompt, str) else prompt_ids(self._connection, prompt, named),
            "max_tokens": request.n_predict,
            "seed": request.seed,
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True, "continuous_usage_stats": True},
            # A salt of its own keeps a request from the prefixes of earlier ones.
            "cache_salt": secrets.token_hex(8),
        }
        return body if request.temperature is None else {**body, "temperature": request.temperature}

    def _settled(self, before: VllmCounters, tokens: int) -> VllmCounters:
        """The counters once they hold all tokens of an answer, or will not hold them any more."""
        deadline = time.monotonic() + _SETTLE_S
        while True:
            after = self._counters()
            wanted = None if before.tokens is None else before.tokens + tokens
            reset = after.tokens is None or after.tokens < (before.tokens or 0)
            if wanted is None or reset or (after.tokens or 0) >= wanted or time.monotonic() > deadline:
                return after
            time.sleep(_POLL_S)

    def _counters(self) -> VllmCounters:
        try:
            text = self._connection.text("/metrics")
        except MeasureError:
            return VllmCounters(None, None)
        return vllm_counters(text)

    @contextmanager
    def _turn(self) -> Iterator[_Turn]:
        """A request under way: all that are at the same time are not alone."""
        turn = _Turn(alone=True)
        with self._lock:
            self._turns.append(turn)
            if len(self._turns) > 1:
                for one in self._turns:
                    one.alone = False
        try:
            yield turn
        finally:
            with self._lock:
                self._turns.remove(turn)


def _drafts(before: VllmCounters, after: VllmCounters, tokens: int) -> Drafts | None:
    return None if before.speculative is None else between(before, after, tokens)
