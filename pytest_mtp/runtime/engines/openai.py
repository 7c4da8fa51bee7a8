"""Any server with OpenAI's ``/v1/completions``: it tells tokens by usage, and nothing of drafts."""

from pytest_mtp.core.endpoint import Endpoint, Engine
from pytest_mtp.core.engine_answer.openai import read_openai
from pytest_mtp.core.engine_answer.protocol import Clock, Told
from pytest_mtp.core.engine_answer.reading import server_sent_events
from pytest_mtp.core.request import Request
from pytest_mtp.runtime.engines.connection import Connection
from pytest_mtp.runtime.engines.served_model import chosen, openai_models
from pytest_mtp.runtime.engines.untold import Untold, untold


def recognise(connection: Connection, endpoint: Endpoint) -> "OpenAi | None":
    """Its adapter, where it lists models."""
    models = openai_models(connection)
    if models is None:
        return None
    return OpenAi(connection, chosen(endpoint, [str(one.get("id")) for one in models]))


class OpenAi(Untold):
    """The adapter of one OpenAI-compatible server."""

    version = ""
    name = "An OpenAI-compatible server"
    knowledge = untold(Engine.OPENAI, Clock.CLIENT)

    def __init__(self, connection: Connection, model: str) -> None:
        self._connection, self.model = connection, model

    def complete(self, request: Request) -> Told:
        """Ask for one completion, streamed; MeasureError where usage is not told."""
        if not isinstance(request.prompt, str):
            raise self.no_ids()
        body: dict[str, object] = {
            "model": self.model,
            "prompt": request.prompt,
            "max_tokens": request.n_predict,
            "seed": request.seed,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature
        return read_openai(self._connection.stream("/v1/completions", body, request.timeout_s, server_sent_events))
