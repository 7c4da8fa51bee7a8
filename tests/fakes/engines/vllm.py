"""vLLM as its documentation tells it: /health, /version, /v1/models, /v1/completions, /tokenize and /metrics.

Run as a program it takes the command line of ``vllm serve``; the model ``dies`` makes it fail, ``never`` never ready.
"""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from threading import Barrier
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from tests.fakes.engines.script import Script, texts
from tests.fakes.engines.speaking import Speaker, Trouble

MODEL = "org/model"
LABELS = ("model_name", "engine")


@dataclass
class Vllm(Trouble):
    """One server's state: its script, its counters, and its key."""

    script: Script = field(default_factory=Script)
    model: str = MODEL
    key: str | None = None
    others: int = 0
    """Tokens that another client's request has while ours runs."""
    usage: bool = True
    metrics: bool = True
    lag: int = 0
    """How often /metrics is read before a request is in it."""
    together: Barrier | None = None
    """Where requests wait for each other before they are answered."""

    def __post_init__(self) -> None:
        self.late = self.waiting = 0
        self.start()

    def finish(self, tokens: int) -> None:
        """Count one request, now or later."""
        self.late, self.waiting = tokens, self.lag
        self._catch_up()

    def _catch_up(self) -> None:
        if self.late and self.waiting == 0:
            self.count(self.late)
            self.late = 0
        self.waiting -= 1

    def start(self) -> None:
        """Begin to count at 0, as a server that was started anew."""
        self.registry = CollectorRegistry()
        self.tokens = self._counter("vllm:generation_tokens")
        Gauge("vllm:num_requests_running", "Running.", LABELS, registry=self.registry).labels(self.model, "0").set(0)
        if self.script.k:
            self.drafts = self._counter("vllm:spec_decode_num_drafts")
            self.drafted = self._counter("vllm:spec_decode_num_draft_tokens")
            self.accepted = self._counter("vllm:spec_decode_num_accepted_tokens")
            name = "vllm:spec_decode_num_accepted_tokens_per_pos"
            family = Counter(name, "Places.", (*LABELS, "position"), registry=self.registry)
            self.places = [family.labels(self.model, "0", str(place)) for place in range(self.script.k)]

    def count(self, tokens: int) -> None:
        """Count one request."""
        self.tokens.inc(tokens)
        if not self.script.k:
            return
        steps = self.script.steps(tokens)
        self.drafts.inc(len(steps))
        self.drafted.inc(len(steps) * self.script.k)
        self.accepted.inc(sum(steps))
        for counter, more in zip(self.places, self.script.places(tokens), strict=True):
            counter.inc(more)

    def page(self, path: str) -> tuple[int, object]:
        """Status and content of what is only read."""
        if path == "/metrics" and self.metrics:
            self._catch_up()
            return 200, generate_latest(self.registry).decode()
        if path == "/health":
            return (503 if self.model == "never" else 200), ""
        models = {"object": "list", "data": [{"id": self.model, "owned_by": "vllm"}]}
        pages: dict[str, object] = {"/version": {"version": "0.11.2"}, "/v1/models": models}
        return (200, pages[path]) if path in pages else (404, {"detail": "Not Found"})

    def _counter(self, name: str) -> Counter:
        return Counter(name, "Counted.", LABELS, registry=self.registry).labels(self.model, "0")


def handler(state: Vllm) -> type[Speaker]:
    """A handler of this server."""

    class Handler(Speaker):
        trouble = state

        def do_GET(self) -> None:
            if self.path.startswith("/v1") and state.key and self.headers["Authorization"] != f"Bearer {state.key}":
                self.say(401, {"error": "Unauthorized"})
            else:
                self.say(*state.page(self.path))

        def do_POST(self) -> None:
            body = self.body()
            if self.path == "/tokenize":
                self.say(200, {"tokens": [len(word) for word in body["prompt"].split()]})
            elif state.fault == "http-400":
                self.say(400, {"error": {"message": "This model's maximum context length is 64 tokens.", "code": 400}})
            elif state.fault == "aborts":
                os.abort()
            else:
                if state.together is not None:
                    state.together.wait(5)
                self.stream(_events(state, body))
                if state.fault == "restarted":
                    state.start()
                state.finish(body["max_tokens"])
                if state.others:
                    state.count(state.others)

    return Handler


def _events(state: Vllm, body: dict[str, Any]) -> Iterator[str]:
    prompt = body["prompt"]
    used = {"prompt_tokens": len(prompt.split()) if isinstance(prompt, str) else len(prompt)}
    continuous = body["stream_options"].get("continuous_usage_stats") and state.usage
    for text, there in texts(state.script.chunks(body["max_tokens"])):
        end = "length" if there == body["max_tokens"] else None
        doc: dict[str, Any] = {"id": "cmpl-1", "choices": [{"index": 0, "text": text, "finish_reason": end}]}
        if continuous:
            doc["usage"] = used | {"completion_tokens": there}
        yield from (f"data: {json.dumps(doc, ensure_ascii=False)}", "")
    if state.usage:
        yield f"data: {json.dumps({'choices': [], 'usage': used | {'completion_tokens': body['max_tokens']}})}"
        yield ""
    yield from ("data: [DONE]", "")


def _value(name: str, default: str = "") -> str:
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def main() -> None:
    """Serve as ``vllm serve MODEL ...``."""
    if sys.argv[1] == "--version":
        sys.stdout.write("INFO: importing\n0.11.2\n")
        return
    if sys.argv[1] != "serve":
        sys.exit(f"no such command: {sys.argv[1]}")
    model = sys.argv[2]
    if model == "dies":
        sys.exit("ValueError: the model architecture is not supported")
    config = json.loads(_value("--speculative-config", "{}"))
    script = Script(k=config.get("num_speculative_tokens", 0), accepts=(1, 0))
    state = Vllm(script=script, model=_value("--served-model-name", model), key=os.environ["VLLM_API_KEY"])
    state.fault = "aborts" if model == "aborts" else ""
    if model == "never":
        state.model = "never"
    sys.stderr.write(f"Starting vLLM server on {_value('--host')}:{_value('--port')}\n")
    sys.stderr.flush()
    ThreadingHTTPServer((_value("--host"), int(_value("--port"))), handler(state)).serve_forever()


if __name__ == "__main__":
    main()
