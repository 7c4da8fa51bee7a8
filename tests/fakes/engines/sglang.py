"""SGLang as its documentation tells it: /server_info (or /get_server_info), /generate, /tokenize."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.engines.script import Script, texts
from tests.fakes.engines.speaking import Speaker, Trouble


@dataclass
class Sglang(Trouble):
    """One server's state; ``names`` are those of its version: ``new``, ``old``, or ``oldest``, which counts little."""

    script: Script = field(default_factory=Script)
    names: str = "new"
    disjoint: bool = False
    info_path: str = "/server_info"
    counts: bool = True

    @property
    def info(self) -> dict[str, Any]:
        """What it says of itself."""
        speculation = (
            {"speculative_algorithm": "EAGLE", "speculative_num_draft_tokens": self.script.k + 1}
            if self.script.k
            else {"speculative_algorithm": None, "speculative_num_draft_tokens": None}
        )
        return {"model_path": "/models/m", "version": "0.5.9", "stream_output": self.disjoint, **speculation}

    def meta(self, tokens: int) -> dict[str, Any]:
        """The counts of a whole answer; of the last step, those that became tokens."""
        if not self.script.k or not self.counts:
            return {}
        sizes = list(self.script.chunks(tokens))[1:]
        accepted = [size - 1 for size in sizes]
        steps = len(sizes)
        told = {"spec_verify_ct": steps, "spec_accept_length": tokens / steps}
        histogram = [Counter(accepted)[count] for count in range(self.script.k + 1)]
        if self.names == "new":
            told |= {"spec_num_correct_drafts": sum(accepted), "spec_num_proposed_drafts": steps * self.script.k}
            return told | {"spec_correct_drafts_histogram": histogram}
        if self.names == "old":
            told |= {"spec_accept_token_num": sum(accepted), "spec_draft_token_num": steps * self.script.k}
            return told | {"spec_accept_histogram": histogram}
        return told


def handler(state: Sglang) -> type[Speaker]:
    """A handler of this server."""

    class Handler(Speaker):
        trouble = state

        def do_GET(self) -> None:
            if self.path == state.info_path:
                self.say(200, state.info)
            else:
                self.say(404, {"detail": "Not Found"})

        def do_POST(self) -> None:
            body = self.body()
            if self.path == "/tokenize":
                self.say(200, {"tokens": [len(word) for word in body["prompt"].split()], "count": 1})
            elif state.fault == "http-400":
                self.say(400, {"error": {"message": "The input is longer than the context length."}})
            else:
                self.stream(_events(state, body))

    return Handler


def _events(state: Sglang, body: dict[str, Any]) -> Iterator[str]:
    tokens = body["sampling_params"]["max_new_tokens"]
    prompt = body["input_ids"] if "input_ids" in body else body["text"].split()
    so_far = ""
    for text, there in texts(state.script.chunks(tokens)):
        so_far += text
        meta: dict[str, Any] = {
            "prompt_tokens": len(prompt),
            "completion_tokens": there,
            "cached_tokens": 0,
            "finish_reason": None,
        }
        if there == tokens:
            meta |= {"finish_reason": {"type": "length", "length": tokens}, **state.meta(tokens)}
        doc = {"text": text if state.disjoint else so_far, "meta_info": meta}
        yield from (f"data: {json.dumps(doc, ensure_ascii=False)}", "")
    yield from ("data: [DONE]", "")
