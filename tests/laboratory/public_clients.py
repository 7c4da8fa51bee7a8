"""Public clients in miniature: each asks a llama-server its own way, and makes its tok/s by its own formula.

``mtp-bench.py`` has two revisions that ask other endpoints; ``speed_bench.py`` is llama.cpp's own, for SPEED-Bench's
rows. What they write is written here as they write it, so that it can be imported; every response is kept. The own
tool of SPEED-Bench, ``specdec_bench``, streams and reads the client's clock.
"""

import json
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from pytest_mtp.core.chat_answer import as_completion, as_events
from pytest_mtp.core.engine_answer.protocol import Event
from pytest_mtp.core.request import Answer, parse_answer, parse_stream

CHAT, RAW = "/v1/chat/completions", "/completion"
MTP_BENCH_TOKENS = 192


@dataclass(frozen=True, slots=True)
class Reply:
    """One response of a server, as it came."""

    path: str
    body: Mapping[str, Any]
    wall_s: float

    @property
    def ours(self) -> Answer:
        """The same response, read by us."""
        return parse_answer(self.body if self.path == RAW else as_completion(self.body), 1000 * self.wall_s)


@dataclass(frozen=True, slots=True)
class Tape:
    """A server, and all that it ever answered."""

    url: str
    key: str | None = None
    replies: list[Reply] = field(default_factory=list)

    def post(self, path: str, payload: Mapping[str, Any]) -> Reply:
        """Ask, wait and keep the response."""
        headers = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        begin = time.perf_counter()
        response = httpx.post(self.url + path, json=payload, headers=headers, timeout=120, trust_env=False)
        reply = Reply(path, response.raise_for_status().json(), time.perf_counter() - begin)
        self.replies.append(reply)
        return reply


@dataclass(frozen=True, slots=True)
class Streamed:
    """One streamed response, each event with the time at which it came."""

    events: tuple[Event, ...]

    @property
    def ours(self) -> Answer:
        """The same events, read by us."""
        return parse_stream(as_events(self.events), self.events[-1][0])

    @property
    def specdec_bench_tps(self) -> float:
        """Tokens without the first, from the chunk that brought it to the last chunk."""
        (_, last) = self.events[-1]
        came = [ms for ms, event in self.events if _says_something(event)]
        usage: Any = last["usage"]
        return float(1000 * (usage["completion_tokens"] - 1) / (came[-1] - came[0]))


def streamed_chat(prompt: str, url: str, tokens: int) -> Streamed:
    """A chat, streamed; the counts of every chunk are for us alone."""
    payload = {
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": tokens,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
        "timings_per_token": True,
    }
    events: list[Event] = []
    begin = time.perf_counter()
    with httpx.stream("POST", url + CHAT, json=payload, timeout=120, trust_env=False) as response:
        for line in response.iter_lines():
            if line.startswith("data: {"):
                events.append((1000 * (time.perf_counter() - begin), json.loads(line.removeprefix("data: "))))
    return Streamed(tuple(events))


def _says_something(event: Mapping[str, Any]) -> bool:
    choices = event["choices"]
    return bool(choices) and bool(choices[0]["delta"].get("content"))


def mtp_bench_raw(prompts: Sequence[tuple[str, str]], tape: Tape, tokens: int = MTP_BENCH_TOKENS) -> dict[str, Any]:
    """The first revision: raw, greedy, uncached; both its count and its rate are the server's."""
    fixed = {"n_predict": tokens, "temperature": 0, "seed": 42, "cache_prompt": False, "stream": False}
    rows = []
    for name, prompt in prompts:
        reply = tape.post(RAW, {"prompt": prompt, **fixed})
        timings = reply.body["timings"]
        rows.append(_row(name, reply, timings["predicted_n"], timings["predicted_per_second"]))
    return _written(rows)


def mtp_bench_chat(prompts: Sequence[tuple[str, str]], tape: Tape, tokens: int = MTP_BENCH_TOKENS) -> dict[str, Any]:
    """The second: a chat at the server's own temperature; the count is of usage, the rate rounded."""
    rows = []
    for name, prompt in prompts:
        messages = [{"role": "user", "content": prompt}]
        reply = tape.post(CHAT, {"model": "llama", "messages": messages, "max_tokens": tokens, "seed": 42})
        count = reply.body["usage"]["completion_tokens"]
        rate = reply.body["timings"].get("predicted_per_second") or count / reply.wall_s
        rows.append(_row(name, reply, count, round(rate, 2)))
    return _written(rows)


def _row(name: str, reply: Reply, count: int, rate: float) -> dict[str, Any]:
    timings = reply.body["timings"]
    drafted, accepted = timings.get("draft_n", 0), timings.get("draft_n_accepted", 0)
    return {
        "name": name,
        "wall_s": round(reply.wall_s, 3),
        "predicted_n": count,
        "predicted_per_second": rate,
        "draft_n": drafted,
        "draft_n_accepted": accepted,
        "accept_rate": round(accepted / drafted, 4) if drafted else None,
    }


def _written(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"results": rows, "aggregate": {"n_requests": len(rows)}}


def speed_bench(rows: Sequence[Mapping[str, Any]], tape: Tape, tokens: int) -> dict[str, Any]:
    """All turns of every row, each going on from the answers before; a category has the mean of its rates."""
    results = [_speed_bench_row(row, tape, tokens) for row in rows]
    categories = dict.fromkeys(one["category"] for one in results)
    return {
        "config": {"bench": "qualitative", "osl": tokens, "concurrency": 1, "extra_inputs": {"temperature": 0}},
        "results": results,
        "summary": [{"category": name, "avg_pred_t_s": _mean_rate(results, name)} for name in categories],
    }


def _mean_rate(results: Sequence[Mapping[str, Any]], category: str) -> float:
    return statistics.mean(float(one["predicted_per_second"]) for one in results if one["category"] == category)


def _speed_bench_row(row: Mapping[str, Any], tape: Tape, tokens: int) -> dict[str, Any]:
    messages: list[dict[str, str]] = []
    replies = []
    for turn in row["turns"]:
        messages.append({"role": "user", "content": turn})
        payload = {"messages": messages, "max_tokens": tokens, "stream": False, "temperature": 0}
        replies.append(tape.post(CHAT, payload))
        said = replies[-1].body["choices"][0]["message"].get("content")
        messages.append({"role": "assistant", "content": said or ""})
    return {"id": row["question_id"], "category": row["category"], "ok": True, **_speed_bench_sums(replies)}


def _speed_bench_sums(replies: Sequence[Reply]) -> dict[str, Any]:
    """One turn keeps the server's rate; several are all their tokens over all their time."""
    timings = [one.body["timings"] for one in replies]
    count = sum(one.body["usage"]["completion_tokens"] for one in replies)
    ms = sum(one["predicted_ms"] for one in timings)
    rate = timings[0]["predicted_per_second"] if len(replies) == 1 else 1000 * count / ms
    return {
        "turns": len(replies),
        "completion_tokens": count,
        "predicted_ms": ms,
        "predicted_per_second": rate,
        "prompt_ms": sum(one["prompt_ms"] for one in timings),
        "prompt_per_second": timings[0]["prompt_per_second"] if len(replies) == 1 else None,
        "draft_n": sum(one.get("draft_n", 0) for one in timings),
        "draft_n_accepted": sum(one.get("draft_n_accepted", 0) for one in timings),
    }
