"""Ollama: the server's own clock in nanoseconds, and nothing of drafts."""

from pytest_mtp.core.endpoint import Endpoint, Engine
from pytest_mtp.core.engine_answer.ollama import ollama_models, read_ollama
from pytest_mtp.core.engine_answer.protocol import Clock, Told
from pytest_mtp.core.engine_answer.reading import json_lines
from pytest_mtp.core.request import Request
from pytest_mtp.runtime.engines.connection import Connection
from pytest_mtp.runtime.engines.served_model import chosen
from pytest_mtp.runtime.engines.untold import Untold, untold

_LATEST = ":latest"


def recognise(connection: Connection, endpoint: Endpoint) -> "Ollama | None":
    """Its adapter, where it says its version in Ollama's place."""
    version = connection.look("/api/version")
    tags = None if version is None else connection.look("/api/tags")
    if version is None or tags is None:
        return None
    offers = ollama_models(tags)
    # A name without a tag means the latest, as everywhere in Ollama.
    offers += tuple(one.removesuffix(_LATEST) for one in offers if one.removesuffix(_LATEST) == endpoint.model)
    return Ollama(connection, str(version.get("version", "")), chosen(endpoint, offers))


class Ollama(Untold):
    """The adapter of one Ollama."""

    name = "Ollama"
    knowledge = untold(Engine.OLLAMA, Clock.SERVER)

    def __init__(self, connection: Connection, version: str, model: str) -> None:
        self._connection, self.version, self.model = connection, version, model

    def complete(self, request: Request) -> Told:
        """Ask for one completion of the text as it is, without the model's template."""
        if not isinstance(request.prompt, str):
            raise self.no_ids()
        options: dict[str, object] = {"num_predict": request.n_predict, "seed": request.seed}
        if request.temperature is not None:
            options["temperature"] = request.temperature
        body = {"model": self.model, "prompt": request.prompt, "raw": True, "stream": True, "options": options}
        return read_ollama(self._connection.stream("/api/generate", body, request.timeout_s, json_lines))
