"""The readers of what servers answer, as calls of bytes."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytest_mtp.core.chat_answer import as_completion, as_events
from pytest_mtp.core.engine_answer.llama_server import llama_props, speculative_slots, told_of
from pytest_mtp.core.engine_answer.ollama import ollama_models, read_ollama
from pytest_mtp.core.engine_answer.openai import read_openai
from pytest_mtp.core.engine_answer.protocol import Stream, Told
from pytest_mtp.core.engine_answer.reading import Line, error_of, json_lines, server_sent_events, split_lines
from pytest_mtp.core.engine_answer.sglang import SglangInfo, read_sglang, sglang_info
from pytest_mtp.core.engine_answer.vllm import between, vllm_counters
from pytest_mtp.core.request import parse_answer, parse_stream
from pytest_mtp.errors import InputError, MeasureError

Read = Callable[[bytes, Path], object]

_WALL_MS = 99.0
_METRICS = """\
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="m"} 100.0
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{engine="0"} 20
# TYPE vllm:spec_decode_num_draft_tokens_total counter
vllm:spec_decode_num_draft_tokens_total{engine="0"} 60
# TYPE vllm:spec_decode_num_accepted_tokens_total counter
vllm:spec_decode_num_accepted_tokens_total{engine="0"} 30
# TYPE vllm:spec_decode_num_accepted_tokens_per_pos_total counter
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="0"} 14
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="1"} 10
"""
_TIMINGS = {"prompt_n": 5, "prompt_ms": 1.5, "predicted_n": 9, "predicted_ms": 80.0, "draft_n": 6, "cache_n": 0} | {
    "draft_n_accepted": 4
}


def engines() -> Mapping[str, tuple[str, Read]]:
    """By name: what a sound answer is made of, and its reader."""
    return {
        "openai stream": ("text", lambda data, _: _answered(read_openai(_events(data)))),
        "sglang stream": ("text", _sglang),
        "ollama stream": ("text", lambda data, _: _answered(read_ollama(_lines(data)))),
        "openai events": ("JSON", lambda data, _: _answered(read_openai(_stream(data)))),
        "sglang events": ("JSON", lambda data, _: _answered(read_sglang(_stream(data), _INFO))),
        "ollama events": ("JSON", lambda data, _: _answered(read_ollama(_stream(data)))),
        "vllm metrics": ("text", _metrics),
        "engine documents": ("JSON", _documents),
        "completion": ("JSON", lambda data, _: told_of(parse_answer(_table(data), _WALL_MS)).tau),
        "chat completion": ("JSON", lambda data, _: parse_answer(as_completion(_table(data)), _WALL_MS)),
        "completion events": ("JSON", lambda data, _: parse_stream(_timed(data), _WALL_MS)),
        "chat events": ("JSON", lambda data, _: parse_stream(as_events(_timed(data)), _WALL_MS)),
    }


_INFO = SglangInfo(version="0.5.9", model="m", algorithm="EAGLE", guesses=3, disjoint=False)


def _answered(told: Told) -> object:
    """As it goes on into a measurement, whose rates may lack a meaning."""
    answer = told.answer()
    return told.tau, answer.timings.tps, answer.timings.tau if answer.timings.told else None


def _events(data: bytes) -> Stream:
    return server_sent_events(*_split(data), _WALL_MS)


def _lines(data: bytes) -> Stream:
    return json_lines(*_split(data), _WALL_MS)


def _split(data: bytes) -> tuple[list[Line], bytes]:
    lines, rest = split_lines(b"", data)
    return [(float(place), line) for place, line in enumerate(lines)], rest


def _sglang(data: bytes, _: Path) -> object:
    return _answered(read_sglang(_events(data), _INFO))


def _metrics(data: bytes, _: Path) -> object:
    before, after = vllm_counters(_METRICS), vllm_counters(data.decode(errors="replace"))
    return after.speculative, between(before, after, 0 if after.tokens is None else after.tokens - 100)


def _documents(data: bytes, _: Path) -> object:
    document = _table(data)
    slots = document.get("slots")
    tables = [one for one in slots if isinstance(one, dict)] if isinstance(slots, list) else []
    return (
        llama_props(document),
        sglang_info(document),
        ollama_models(document),
        error_of(document),
        speculative_slots(tables),
    )


def _decoded(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError("as the connection says it") from error


def _table(data: bytes) -> dict[str, Any]:
    document = _decoded(data)
    if not isinstance(document, dict):
        raise MeasureError("as the connection says it")
    return document


def _timed(data: bytes) -> list[tuple[float, dict[str, Any]]]:
    document = _decoded(data)
    if not isinstance(document, list) or not all(isinstance(one, dict) for one in document):
        raise MeasureError("as the connection says it")
    return [(float(place), one) for place, one in enumerate(document)]


def _stream(data: bytes) -> Stream:
    return Stream(tuple(_timed(data)), whole=True, wall_ms=_WALL_MS)


def _sent(events: object) -> bytes:
    assert isinstance(events, list)
    return b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in events) + b"data: [DONE]\n\n"


def _chunk(text: str, tokens: int, end: str | None = None) -> dict[str, object]:
    usage = {"prompt_tokens": 5, "completion_tokens": tokens, "prompt_tokens_details": {"cached_tokens": 2}}
    return {"choices": [{"text": text, "finish_reason": end}], "usage": usage}


def _meta(tokens: int, end: object = None) -> dict[str, object]:
    counts = {"spec_verify_ct": 3, "spec_draft_token_num": 9, "spec_accept_token_num": 3}
    told = {"completion_tokens": tokens, "prompt_tokens": 5, "cached_tokens": 2, "finish_reason": end, **counts}
    return {"text": "abc", "meta_info": {**told, "spec_accept_histogram": [1, 1, 1, 0]}}


_OPENAI = [_chunk("a", 1), _chunk("bcd", 4), _chunk("e", 7, "length"), {"choices": [], "usage": {}}]
_SGLANG = [_meta(1), _meta(4), _meta(7, {"type": "length"})]
_OLLAMA = [
    {"response": "a", "done": False},
    {"response": "b", "done": True, "done_reason": "stop", "eval_count": 7, "eval_duration": 80_000_000}
    | {"prompt_eval_count": 5, "prompt_eval_duration": 9_000_000},
]
_COMPLETION = {"content": "abc", "stop_type": "limit", "timings": _TIMINGS}
_CHAT = {"choices": [{"message": {"content": "abc"}, "finish_reason": "length"}], "timings": _TIMINGS}
_STREAMED = [
    {"content": "a", "tokens_predicted": 1},
    {"content": "b", "tokens_predicted": 5},
    {"stop": True, **_COMPLETION},
]
_CHATTED = [
    {"choices": [{"delta": {"content": "a"}}], "timings": _TIMINGS | {"predicted_n": 2}},
    {"choices": [{"delta": {"content": "b"}, "finish_reason": "stop"}], "timings": _TIMINGS},
]
_PROPS = {"default_generation_settings": {}, "total_slots": 1, "model_path": "/m", "build_info": "b1"}
_INFOS = {"model_path": "m", "speculative_algorithm": "EAGLE", "speculative_num_draft_tokens": 4, "version": "1"}


def _as_json(*documents: object) -> Callable[[], tuple[bytes, ...]]:
    return lambda: tuple(json.dumps(one).encode() for one in documents)


SOUND: Mapping[str, Callable[[], tuple[bytes, ...]]] = {
    "openai stream": lambda: (_sent(_OPENAI),),
    "sglang stream": lambda: (_sent(_SGLANG),),
    "ollama stream": lambda: (b"".join(json.dumps(one).encode() + b"\n" for one in _OLLAMA),),
    "openai events": _as_json(_OPENAI),
    "sglang events": _as_json(_SGLANG),
    "ollama events": _as_json(_OLLAMA),
    "vllm metrics": lambda: (_METRICS.encode(),),
    "engine documents": _as_json(
        _PROPS, _INFOS, {"models": [{"name": "m"}], "slots": [{"speculative": True}]}, {"error": {"message": "no"}}
    ),
    "completion": _as_json(_COMPLETION),
    "chat completion": _as_json(_CHAT),
    "completion events": _as_json(_STREAMED),
    "chat events": _as_json(_CHATTED),
}
"""Sound answers of every engine."""
