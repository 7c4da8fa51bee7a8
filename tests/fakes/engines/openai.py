"""A server with no more than OpenAI's API: /v1/models and /v1/completions."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.engines.script import Script, texts
from tests.fakes.engines.speaking import Speaker, Trouble


@dataclass
class OpenAi(Trouble):
    """One server's state."""

    models: tuple[str, ...] = ("m",)
    usage: bool = True
    script: Script = field(default_factory=Script)


def handler(state: OpenAi) -> type[Speaker]:
    """A handler of this server."""

    class Handler(Speaker):
        trouble = state

        def do_GET(self) -> None:
            if self.path == "/v1/models":
                self.say(200, {"data": [{"id": name, "owned_by": "somebody"} for name in state.models]})
            else:
                self.say(404, "not here")

        def do_POST(self) -> None:
            body = self.body()
            if state.fault == "http-404":
                self.say(404, {"error": {"message": f"The model `{body['model']}` does not exist."}})
            else:
                self.stream(_events(state, body))

    return Handler


def _events(state: OpenAi, body: dict[str, Any]) -> Iterator[str]:
    for text, _ in texts(state.script.chunks(body["max_tokens"])):
        choice = {"index": 0, "text": text, "finish_reason": None}
        yield from (f"data: {json.dumps({'choices': [choice]}, ensure_ascii=False)}", "")
    yield f"data: {json.dumps({'choices': [{'index': 0, 'text': '', 'finish_reason': 'length'}]})}"
    if state.usage:
        used = {"prompt_tokens": len(body["prompt"].split()), "completion_tokens": body["max_tokens"]}
        yield f"data: {json.dumps({'choices': [], 'usage': used})}"
    yield from ("data: [DONE]", "")
