"""Ollama as its documentation tells it: /api/version, /api/tags, /api/generate."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.fakes.engines.script import Script, texts
from tests.fakes.engines.speaking import Speaker, Trouble


@dataclass
class Ollama(Trouble):
    """One server's state."""

    models: tuple[str, ...] = ("qwen3:8b",)
    step_ns: int = 1_250_000
    """What it claims for each token."""
    ends_after: int | None = None
    """The token after which the text is over."""


def handler(state: Ollama) -> type[Speaker]:
    """A handler of this server."""

    class Handler(Speaker):
        trouble = state

        def do_GET(self) -> None:
            if self.path == "/api/version":
                self.say(200, {"version": "0.12.6"})
            elif self.path == "/api/tags":
                self.say(200, {"models": [{"name": name, "model": name} for name in state.models]})
            else:
                self.say(404, "404 page not found")

        def do_POST(self) -> None:
            body = self.body()
            if state.fault == "http-404":
                self.say(404, {"error": f"model '{body['model']}' not found"})
            else:
                self.stream(_lines(state, body))

    return Handler


def _lines(state: Ollama, body: dict[str, Any]) -> Iterator[str]:
    tokens = state.ends_after or body["options"]["num_predict"]
    for text, _ in texts(Script(k=0).chunks(tokens), 0.0):
        yield json.dumps({"model": body["model"], "response": text, "done": False}, ensure_ascii=False)
    last: dict[str, Any] = {"done": True, "done_reason": "stop" if state.ends_after else "length", "response": ""}
    last |= {"prompt_eval_count": len(body["prompt"].split()), "prompt_eval_duration": 7_500_000}
    yield json.dumps(last | {"eval_count": tokens, "eval_duration": state.step_ns * (tokens - 1), "total_duration": 1})
