"""Each engine's streamed answer, read from events whose times are known."""

from typing import Any

import pytest

from pytest_mtp.core.engine_answer.ollama import read_ollama
from pytest_mtp.core.engine_answer.openai import read_openai
from pytest_mtp.core.engine_answer.protocol import Clock, Event, Stream
from pytest_mtp.core.engine_answer.sglang import SglangInfo, read_sglang, sglang_info
from pytest_mtp.errors import MeasureError

INFO = SglangInfo(version="0.5.9", model="m", algorithm="EAGLE", guesses=3, disjoint=False)


def stream(*events: Event, whole: bool = True) -> Stream:
    return Stream(events, whole=whole, wall_ms=99.0)


def chunk(ms: float, text: str, end: str | None = None, tokens: int | None = None) -> Event:
    doc: dict[str, Any] = {"choices": [{"text": text, "finish_reason": end}]}
    return ms, doc if tokens is None else doc | {"usage": {"prompt_tokens": 5, "completion_tokens": tokens}}


def usage(ms: float, tokens: int, **more: object) -> Event:
    return ms, {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": tokens, **more}}


def test_tokens_come_from_usage_and_each_has_the_time_of_its_chunk() -> None:
    told = read_openai(
        stream(chunk(10, "a", None, 1), chunk(14, "bcd", None, 4), chunk(20, "e", "length", 5), usage(30, 5))
    )
    assert (told.text, told.tokens, told.prompt_tokens, told.stop_type) == ("abcde", 5, 5, "limit")
    assert (told.first_token_ms, told.decode_ms, told.clock, told.wall_ms) == (10, 10, Clock.CLIENT, 99)
    assert told.arrivals_ms == (10, 14, 14, 14, 20)


def test_an_answer_by_the_clients_clock_has_the_rate_from_first_to_last_token() -> None:
    answer = read_openai(stream(chunk(10, "a"), chunk(14, "bcd"), chunk(20, "e", "length"), usage(30, 5))).answer()
    assert (answer.timings.prompt_ms, answer.timings.predicted_ms, answer.timings.predicted_n) == (10, 10, 5)
    assert answer.timings.ms_per_token == 2.5
    assert answer.arrivals_ms is None


def test_an_empty_beginning_is_no_token_and_an_end_of_its_own_is_the_last_moment() -> None:
    told = read_openai(stream(chunk(3, ""), chunk(10, "a"), chunk(14, "b"), chunk(16, "", "stop"), usage(30, 3)))
    assert (told.first_token_ms, told.decode_ms, told.stop_type) == (10, 6, "eos")


def test_a_token_without_text_is_a_token_where_usage_says_so() -> None:
    told = read_openai(stream(chunk(10, "", None, 1), chunk(14, "ü", "length", 2), usage(15, 2)))
    assert told.arrivals_ms == (10, 14)


def test_cached_tokens_are_told_apart() -> None:
    told = read_openai(stream(chunk(10, "ab", "length"), usage(15, 2, prompt_tokens_details={"cached_tokens": 4})))
    assert (told.answer().timings.prompt_n, told.answer().timings.cache_n) == (1, 4)
    assert read_openai(stream(chunk(10, "ab", "length"), usage(15, 2))).cached_tokens is None


@pytest.mark.parametrize(
    ("events", "cause"),
    [
        ([chunk(1, "a", "length")], r"has no usage, so it is not known how many tokens came"),
        ([chunk(1, "a"), usage(2, 1)], r"broke after 2 events"),
        ([], r"broke after 0 events"),
        ([chunk(1, "a"), (2, {"error": {"message": "out of memory"}})], r"error of the server: out of memory"),
        ([chunk(1, "a", "length"), usage(2, -1)], r"completion_tokens -1"),
        (
            [chunk(1, "ab", None, 2), chunk(2, "c", "length", 3), usage(3, 3)],
            r"first chunk of the stream holds 2 tokens",
        ),
        ([chunk(1, "a", None, 1), chunk(2, "c", "length", 2), usage(3, 3)], r"hold 2 tokens, and the answer has 3"),
        ([chunk(1, "a", None, 1), chunk(2, "c", "length", 0), usage(3, 1)], r"there are 0 tokens, after 1"),
    ],
)
def test_a_stream_that_is_no_measurement_says_why(events: list[Event], cause: str) -> None:
    with pytest.raises(MeasureError, match=cause):
        read_openai(stream(*events))


def test_a_stream_without_its_end_mark_broke() -> None:
    with pytest.raises(MeasureError, match="broke"):
        read_openai(stream(chunk(1, "a", "length"), usage(2, 1), whole=False))


def sglang(ms: float, text: str, tokens: int, **meta: object) -> Event:
    told = {"prompt_tokens": 5, "completion_tokens": tokens, "cached_tokens": 2, "finish_reason": None, **meta}
    return ms, {"text": text, "meta_info": told}


END: dict[str, object] = {"finish_reason": {"type": "length", "length": 9}}


def test_sglang_counts_steps_of_verifying_and_its_histogram_holds_the_places() -> None:
    counts = {"spec_verify_ct": 3, "spec_num_correct_drafts": 5, "spec_num_proposed_drafts": 9}
    last = sglang(18, "abcdefghi", 9, **END, **counts, spec_correct_drafts_histogram=[0, 1, 2, 0])
    told = read_sglang(stream(sglang(10, "a", 1), sglang(12, "abc", 3), last), INFO)
    assert (told.text, told.tau, told.decode_ms, told.cached_tokens) == ("abcdefghi", 8 / 3, 8, 2)
    assert told.drafts is not None
    assert (told.drafts.drafted, told.drafts.accepted, told.drafts.per_position) == (9, 5, (3, 2, 0))
    assert told.answer().timings.tau == 8 / 3


def test_sglang_may_tell_the_steps_alone_and_its_info_the_rest() -> None:
    told = read_sglang(stream(sglang(10, "a", 1), sglang(18, "ab", 9, **END, spec_verify_ct=3)), INFO)
    assert told.drafts is not None
    assert (told.drafts.steps, told.drafts.drafted, told.drafts.accepted, told.drafts.per_position) == (3, 9, 5, None)


def test_what_sglang_does_not_tell_is_not_zero() -> None:
    last = sglang(18, "ab", 9, **END)
    assert read_sglang(stream(sglang(10, "a", 1), last), INFO).drafts is None
    assert read_sglang(stream(sglang(10, "a", 1), last), INFO).tau is None


def test_sglang_without_speculation_drafts_nothing() -> None:
    info = SglangInfo(version="", model="m", algorithm=None, guesses=None, disjoint=True)
    told = read_sglang(stream(sglang(10, "a", 1), sglang(18, "b", 9, **END)), info)
    assert (told.text, told.tau) == ("ab", 1)


def test_an_info_of_sglang_is_known_by_its_fields() -> None:
    doc = {"model_path": "p", "served_model_name": "n", "speculative_algorithm": "", "version": "1"}
    assert sglang_info(doc) == SglangInfo(version="1", model="n", algorithm=None, guesses=None, disjoint=False)
    assert sglang_info({"model_path": "p"}) is None


def test_ollama_tells_nanoseconds_and_leaves_out_what_is_zero() -> None:
    last = {"done": True, "done_reason": "length", "eval_count": 3, "eval_duration": 4_500_000}
    told = read_ollama(
        stream((7, {"response": "a", "done": False}), (9, {"response": "bc", "done": False}), (10, last))
    )
    assert (told.text, told.tokens, told.decode_ms, told.clock) == ("abc", 3, 4.5, Clock.SERVER)
    assert (told.prompt_tokens, told.prompt_ms, told.first_token_ms, told.drafts) == (0, 0, 7, None)


@pytest.mark.parametrize(
    ("last", "cause"),
    [
        ({"response": "b", "done": False}, r"broke after 2 events"),
        ({"error": "llama runner process has terminated"}, r"error of the server: llama runner process"),
        ({"done": True, "eval_count": 2, "eval_duration": "1s"}, r"eval_duration '1s'"),
    ],
)
def test_an_answer_of_ollama_that_is_none_says_why(last: dict[str, Any], cause: str) -> None:
    with pytest.raises(MeasureError, match=cause):
        read_ollama(stream((1, {"response": "a", "done": False}), (2, last)))
