"""What every engine has in common: its answers, and how they go wrong."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from pytest_mtp.core.precondition import complaint, counted
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.errors import MeasureError, ServerLate
from tests.fakes.engines import ollama, openai, sglang, vllm
from tests.fakes.engines.peer import PLAIN, REQUEST, STEPS, TAU, Peer
from tests.fakes.engines.script import whole_text
from tests.runtime.engines.conftest import At


@pytest.mark.parametrize("state", [vllm.Vllm(), sglang.Sglang(), ollama.Ollama(), openai.OpenAi()])
def test_an_answer_has_all_text_and_its_tokens_by_usage(at: At, state: Peer) -> None:
    told = at(state).told(REQUEST)
    assert (told.text, told.tokens, told.prompt_tokens, told.stop_type) == (whole_text(22), 22, 4, "limit")
    assert told.first_token_ms is not None
    assert 0 < told.first_token_ms <= told.wall_ms


@pytest.mark.parametrize("state", [vllm.Vllm(), sglang.Sglang(), openai.OpenAi()])
def test_times_by_the_clients_clock_lie_within_the_request(at: At, state: Peer) -> None:
    told = at(state).told(REQUEST)
    assert 0 < told.decode_ms < told.wall_ms
    assert told.prompt_ms == told.first_token_ms
    if told.arrivals_ms is not None:
        assert len(told.arrivals_ms) == 22
        assert told.decode_ms == told.arrivals_ms[-1] - told.arrivals_ms[0]


@pytest.mark.parametrize(
    "state", [vllm.Vllm(), sglang.Sglang(), sglang.Sglang(names="old"), sglang.Sglang(names="oldest")]
)
def test_tau_is_tokens_per_step_to_the_digit(at: At, state: Peer) -> None:
    server = at(state)
    for _ in range(2):
        told = server.told(REQUEST)
        assert told.drafts is not None
        assert (told.drafts.steps, told.drafts.drafted, told.tau) == (STEPS, 27, TAU)
        assert told.answer().timings.tau == TAU
        assert complaint(told.answer(), 22, Arm.MTP) is None


@pytest.mark.parametrize(("state", "places"), [(vllm.Vllm(), (7, 5, 3)), (sglang.Sglang(), (6, 4, 2))])
def test_accepted_drafts_by_place_are_the_difference_of_two_readings(
    at: At, state: Peer, places: tuple[int, ...]
) -> None:
    server = at(state)
    server.ask(REQUEST)
    before = server.client.accepted_per_position()
    server.ask(REQUEST)
    assert counted(before, server.client.accepted_per_position()) == places


@pytest.mark.parametrize("state", [vllm.Vllm(script=PLAIN), sglang.Sglang(script=PLAIN)])
def test_a_plain_arm_is_proven_and_drafts_nothing(at: At, state: Peer) -> None:
    server = at(state, "plain={url}")
    told = server.told(REQUEST)
    assert (server.client.speculative(), told.tau) == (False, 1)
    assert complaint(told.answer(), 22, Arm.PLAIN) is None


def test_requests_are_greedy_and_keep_off_the_cache(at: At) -> None:
    states = vllm.Vllm(), sglang.Sglang(), ollama.Ollama(), openai.OpenAi()
    for state in states:
        server = at(state)
        server.ask(REQUEST)
        server.ask(REQUEST)
    first, second = states[0].asked
    assert (first["temperature"], first["ignore_eos"], first["seed"], first["max_tokens"]) == (0.0, True, 42, 22)
    assert first["cache_salt"] != second["cache_salt"]
    first, second = states[1].asked
    assert first["sampling_params"] == {"temperature": 0.0, "ignore_eos": True, "max_new_tokens": 22}
    assert first["extra_key"] != second["extra_key"]
    assert states[2].asked[0]["options"] == {"temperature": 0.0, "seed": 42, "num_predict": 22}
    assert states[2].asked[0]["raw"] is True
    assert "ignore_eos" not in states[3].asked[0]


@pytest.mark.parametrize("state", [vllm.Vllm(), sglang.Sglang()])
def test_texts_and_ids_in_turn_are_asked_as_ids(at: At, state: Peer) -> None:
    server = at(state)
    assert server.client.tokens("how is it") == [3, 2, 2]
    server.ask(replace(REQUEST, prompt=("how is", 7, "it")))
    asked = state.asked[-1]
    assert asked.get("input_ids", asked.get("prompt")) == [3, 2, 7, 2]


@pytest.mark.parametrize("state", [vllm.Vllm, sglang.Sglang, ollama.Ollama, openai.OpenAi])
@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ("dies", r"connection broke before /\S+ was answered"),
        ("cut-in-a-character", r"stream broke after \d events"),
        ("no-json", r"is no JSON"),
        ("error-event", r"error of the server: out of blocks"),
    ],
)
def test_a_stream_that_goes_wrong_is_no_measurement(at: At, state: Callable[..., Peer], fault: str, cause: str) -> None:
    with pytest.raises(MeasureError, match=cause):
        at(state(fault=fault)).ask(REQUEST)


@pytest.mark.parametrize("fault", ["hangs", "drips"])
@pytest.mark.parametrize("state", [vllm.Vllm, ollama.Ollama])
def test_a_server_that_hangs_or_drips_is_late(at: At, state: Callable[..., Peer], fault: str) -> None:
    with pytest.raises(ServerLate, match=r"No whole answer to /\S+ within 0\.3 s") as caught:
        at(state(fault=fault)).ask(replace(REQUEST, timeout_s=0.3))
    assert caught.value.command.startswith("attached to ")


@pytest.mark.parametrize(
    ("state", "cause"),
    [
        (vllm.Vllm(fault="http-400"), r"HTTP 400: This model's maximum context length is 64 tokens\."),
        (sglang.Sglang(fault="http-400"), r"HTTP 400: The input is longer than the context length\."),
        (ollama.Ollama(fault="http-404"), r"HTTP 404: model 'qwen3:8b' not found\."),
        (openai.OpenAi(fault="http-404"), r"HTTP 404: The model `m` does not exist\."),
    ],
)
def test_a_refusal_is_told_in_the_servers_words(at: At, state: Peer, cause: str) -> None:
    with pytest.raises(MeasureError, match=cause):
        at(state).ask(REQUEST)


@pytest.mark.parametrize("state", [vllm.Vllm, sglang.Sglang, openai.OpenAi])
def test_a_stream_that_something_buffers_has_no_times(at: At, state: Callable[..., Peer]) -> None:
    with pytest.raises(MeasureError, match=r"about 21 of 22 within 2 ms: something on the way buffers it"):
        at(state(fault="buffered")).ask(REQUEST)
