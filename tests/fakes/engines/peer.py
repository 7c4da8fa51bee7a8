"""A stand-in of any engine, what it is asked in the tests, and what its answer then counts."""

from http.server import BaseHTTPRequestHandler

from pytest_mtp.core.request import Request
from tests.fakes.engines import ollama, openai, sglang, vllm
from tests.fakes.engines.script import Script

Peer = vllm.Vllm | sglang.Sglang | ollama.Ollama | openai.OpenAi

# Steps accept 3 1 0 2 3 1 0 2 3 of 3 drafts; of the last one's 4 tokens one is asked for.
REQUEST = Request(prompt="how is the sea", n_predict=22, timeout_s=10)
STEPS, TAU = 9, 21 / 9
PLAIN = Script(k=0)


def handler(state: Peer) -> type[BaseHTTPRequestHandler]:
    """The handler of a stand-in."""
    if isinstance(state, vllm.Vllm):
        return vllm.handler(state)
    if isinstance(state, sglang.Sglang):
        return sglang.handler(state)
    return ollama.handler(state) if isinstance(state, ollama.Ollama) else openai.handler(state)
