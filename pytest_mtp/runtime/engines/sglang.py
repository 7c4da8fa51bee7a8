"""SGLang, by its own ``/generate``: the client's clock, and the steps of verifying with every answer."""

import secrets
from itertools import zip_longest
from threading import Lock

from pytest_mtp.core.endpoint import Endpoint, Engine
from pytest_mtp.core.engine_answer.knowledge import DraftSource, Knowledge
from pytest_mtp.core.engine_answer.protocol import Clock, Told
from pytest_mtp.core.engine_answer.reading import server_sent_events
from pytest_mtp.core.engine_answer.sglang import SglangInfo, read_sglang, sglang_info
from pytest_mtp.core.request import Request
from pytest_mtp.runtime.engines.connection import Connection
from pytest_mtp.runtime.engines.served_model import chosen
from pytest_mtp.runtime.engines.token_ids import prompt_ids, token_ids

_INFO = ("/server_info", "/get_server_info")


def recognise(connection: Connection, endpoint: Endpoint) -> "SgLang | None":
    """Its adapter; newer versions renamed the path of its info."""
    for path in _INFO:
        doc = connection.look(path)
        info = None if doc is None else sglang_info(doc)
        if info is not None:
            chosen(endpoint, [info.model])
            return SgLang(connection, info)
    return None


class SgLang:
    """The adapter of one SGLang."""

    def __init__(self, connection: Connection, info: SglangInfo) -> None:
        self._connection, self._info = connection, info
        self._positions: tuple[int, ...] | None = None
        self._lock = Lock()

    @property
    def knowledge(self) -> Knowledge:
        """What this server tells; places once an answer had them, since older versions lack them."""
        counted = None if self._positions is None else True
        return Knowledge(
            engine=Engine.SGLANG,
            clock=Clock.CLIENT,
            drafts=DraftSource.PER_REQUEST,
            per_position=counted,
            speculation_proof=True,
            ignores_eos=True,
            cache_off=True,
            counts_tokens=True,
        )

    @property
    def version(self) -> str:
        """As its info says it."""
        return self._info.version

    @property
    def model(self) -> str:
        """The name by which it serves its model."""
        return self._info.model

    def complete(self, request: Request) -> Told:
        """Ask for one completion, streamed; a key of its own keeps it from the prefixes of earlier prompts."""
        sampling: dict[str, object] = {"max_new_tokens": request.n_predict, "ignore_eos": True}
        if request.temperature is not None:
            sampling["temperature"] = request.temperature
        # Versions without a seed of sampling refuse the field, and greedy requests need none.
        if request.temperature != 0:
            sampling["sampling_seed"] = request.seed
        asked = (
            {"text": request.prompt} if isinstance(request.prompt, str) else {"input_ids": self._ids(request.prompt)}
        )
        body = {**asked, "sampling_params": sampling, "stream": True, "extra_key": secrets.token_hex(8)}
        stream = self._connection.stream("/generate", body, request.timeout_s, server_sent_events)
        told = read_sglang(stream, self._info)
        self._add(None if told.drafts is None else told.drafts.per_position)
        return told

    def speculative(self) -> bool | None:
        """Whether its info names an algorithm of speculation."""
        return self._info.algorithm is not None

    def tokens(self, text: str) -> list[int]:
        """The ids of a text."""
        return token_ids(self._connection, text)

    def accepted_per_position(self) -> tuple[int, ...] | None:
        """Accepted drafts by place, of all that was asked here; ``None`` before the first that tells them."""
        return self._positions

    def close(self) -> None:
        """Nothing is held."""

    def _ids(self, prompt: tuple[str | int, ...]) -> list[int]:
        return prompt_ids(self._connection, prompt)

    def _add(self, positions: tuple[int, ...] | None) -> None:
        if positions is None:
            return
        with self._lock:
            self._positions = tuple(a + b for a, b in zip_longest(self._positions or (), positions, fillvalue=0))
