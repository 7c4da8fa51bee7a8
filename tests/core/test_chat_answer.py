"""The chat endpoint's answers, whole and streamed, read as those of the raw one are."""

from collections.abc import Mapping

import pytest

from pytest_mtp.core.chat_answer import as_completion, as_events
from pytest_mtp.core.request import Answer, Chat, Request, parse_answer, parse_stream
from pytest_mtp.errors import MeasureError, SettingsError


def timed(tokens: int) -> dict[str, object]:
    return {"prompt_n": 12, "prompt_ms": 24.0, "predicted_n": tokens, "predicted_ms": 10.0 * tokens}


def whole(message: Mapping[str, object], reason: str = "length") -> Answer:
    doc = {"choices": [{"message": message, "finish_reason": reason}], "timings": timed(4)}
    return parse_answer(as_completion(doc), 99.0)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": "four"}, "four"),
        ({"reasoning_content": "two and two", "content": "four"}, "two and twofour"),
        ({"reasoning_content": "still thinking", "content": None}, "still thinking"),
        ({"content": None}, ""),
    ],
)
def test_the_text_is_the_thoughts_and_then_the_words(message: Mapping[str, object], text: str) -> None:
    assert whole(message).text == text


@pytest.mark.parametrize(("reason", "stop"), [("length", "limit"), ("stop", "eos"), ("tool_calls", "tool_calls")])
def test_the_reason_to_stop_has_the_raw_endpoint_s_words(reason: str, stop: str) -> None:
    assert whole({"content": "x"}, reason).stop_type == stop


@pytest.mark.parametrize(
    ("doc", "cause"),
    [
        ({"error": "no"}, r"no chat answer \(its fields: error\)"),
        ({"choices": []}, "no chat answer"),
        ({"choices": [{"text": "raw"}]}, "no chat answer"),
        ({"choices": [{"message": {"content": "x"}, "finish_reason": "length"}]}, "has no timings"),
    ],
)
def test_what_is_no_chat_answer_is_refused(doc: Mapping[str, object], cause: str) -> None:
    with pytest.raises(MeasureError, match=cause):
        parse_answer(as_completion(doc), 99.0)


def chunk(delta: Mapping[str, object], tokens: int | None = None) -> dict[str, object]:
    doc: dict[str, object] = {"choices": [{"delta": delta, "finish_reason": None}]}
    return doc if tokens is None else {**doc, "timings": timed(tokens)}


# As a llama-server sends it: a chunk for the role, one that holds two tokens, the reason to stop, and the usage.
CHUNKS: tuple[tuple[float, dict[str, object]], ...] = (
    (10.0, chunk({"role": "assistant", "content": None})),
    (10.0, chunk({"reasoning_content": "hm"}, 1)),
    (20.0, chunk({"content": "fo"}, 3)),
    (30.0, chunk({"content": "ur"}, 4)),
    (40.0, {"choices": [{"delta": {}, "finish_reason": "length"}]}),
    (41.0, {"choices": [], "usage": {"completion_tokens": 5}, "timings": timed(5)}),
)


def test_a_streamed_chat_tells_when_every_token_came() -> None:
    answer = parse_stream(as_events(CHUNKS), 50.0)
    assert (answer.text, answer.stop_type, answer.timings.predicted_n) == ("hmfour", "limit", 5)
    assert answer.arrivals_ms == (10.0, 20.0, 20.0, 30.0, 41.0)


@pytest.mark.parametrize("kept", [0, 1, 4])
def test_a_stream_without_its_end_broke(kept: int) -> None:
    with pytest.raises(MeasureError, match=f"The stream broke after {kept} events"):
        parse_stream(as_events(CHUNKS[:kept]), 50.0)


def test_a_stream_that_lost_its_timings_is_no_measurement() -> None:
    with pytest.raises(MeasureError, match="has no timings"):
        parse_stream(as_events(CHUNKS[:5]), 50.0)


@pytest.mark.parametrize("thinking", [True, False])
def test_a_chat_request_says_whether_to_think(thinking: bool) -> None:  # noqa: FBT001 - a parameter of the test
    request = Request(prompt="Hi", n_predict=8, seed=7, chat=Chat(thinking))
    assert request.path == "/v1/chat/completions"
    assert request.as_json() == {
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 8,
        "chat_template_kwargs": {"enable_thinking": thinking},
        "temperature": 0.0,
        "seed": 7,
        "ignore_eos": True,
        "cache_prompt": False,
        "stream": False,
    }


def test_a_streamed_chat_asks_for_counts_with_every_chunk() -> None:
    body = Request(prompt="Hi", n_predict=8, stream=True, chat=Chat(thinking=False)).as_json()
    assert (body["timings_per_token"], body["stream_options"]) == (True, {"include_usage": True})


def test_a_message_cannot_be_made_of_tokens() -> None:
    with pytest.raises(SettingsError, match=r'set request\.endpoint to "raw"'):
        Request(prompt=("Hi", 1, 2), n_predict=8, chat=Chat(thinking=False))
