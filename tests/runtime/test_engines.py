"""Adapters of engines against small servers of the same dialect, over real HTTP."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from threading import Barrier

import pytest

from pytest_mtp.core.endpoint import Engine, parse_endpoint
from pytest_mtp.core.engine_answer.knowledge import DraftSource
from pytest_mtp.core.engine_answer.protocol import Clock
from pytest_mtp.core.precondition import complaint, counted
from pytest_mtp.core.request import Request
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.errors import MeasureError, ServerImposter, ServerLate
from pytest_mtp.runtime.engines.attached import Attached, attach, endpoint_key
from pytest_mtp.runtime.engines.protocol import Running
from pytest_mtp.runtime.server import Server
from tests.fakes.engines import ollama, openai, sglang, vllm
from tests.fakes.engines.script import Script, whole_text
from tests.fakes.loopback import serving

# Steps accept 3 1 0 2 3 1 0 2 3 of 3 drafts; of the last one's 4 tokens one is asked for.
REQUEST = Request(prompt="how is the sea", n_predict=22, timeout_s=10)
STEPS, TAU = 9, 21 / 9
PLAIN = Script(k=0)

Peer = vllm.Vllm | sglang.Sglang | ollama.Ollama | openai.OpenAi


def handler(state: Peer) -> type[BaseHTTPRequestHandler]:
    """The handler of a stand-in."""
    if isinstance(state, vllm.Vllm):
        return vllm.handler(state)
    if isinstance(state, sglang.Sglang):
        return sglang.handler(state)
    return ollama.handler(state) if isinstance(state, ollama.Ollama) else openai.handler(state)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def at(stack: ExitStack) -> Callable[..., Attached]:
    """Attach to a stand-in, the mtp arm unless told else; both end with the test."""

    def attached(state: Peer, said: str = "mtp={url}", api_key: str | None = None) -> Attached:
        url = stack.enter_context(serving(handler(state)))
        stack.callback(state.done.set)
        return stack.enter_context(attach(parse_endpoint(said.format(url=url)), api_key))

    return attached


At = Callable[..., Attached]


def running(server: Server | Attached) -> Running:
    """For the type checker: both are what a campaign asks."""
    return server


@pytest.mark.parametrize(
    ("state", "engine", "clock", "drafts"),
    [
        (vllm.Vllm(), Engine.VLLM, Clock.CLIENT, DraftSource.COUNTERS),
        (sglang.Sglang(), Engine.SGLANG, Clock.CLIENT, DraftSource.PER_REQUEST),
        (ollama.Ollama(), Engine.OLLAMA, Clock.SERVER, DraftSource.NOT_TOLD),
        (openai.OpenAi(), Engine.OPENAI, Clock.CLIENT, DraftSource.NOT_TOLD),
    ],
)
def test_an_engine_is_recognised_by_asking(
    at: At, state: Peer, engine: Engine, clock: Clock, drafts: DraftSource
) -> None:
    server = at(state)
    assert (server.knowledge.engine, server.knowledge.clock, server.knowledge.drafts) == (engine, clock, drafts)
    assert (server.pid, server.load_s, server.log_text(), server.tail()) == (None, 0, "", "")
    assert server.command_line.startswith("attached to http://127.0.0.1:")
    assert running(server).arm is Arm.MTP


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


@pytest.mark.parametrize("state", [ollama.Ollama(), openai.OpenAi()])
def test_what_is_not_told_is_none_and_said(at: At, state: Peer) -> None:
    server = at(state)
    told = server.told(REQUEST)
    assert (told.drafts, told.tau, server.client.accepted_per_position(), server.client.speculative()) == (None,) * 4
    assert any("Drafts are not told" in one for one in server.knowledge.sentences())


def test_ollama_times_are_the_servers(at: At) -> None:
    timings = at(ollama.Ollama()).ask(REQUEST).timings
    assert (timings.predicted_ms, timings.prompt_ms, timings.ms_per_token) == (1.25 * 21, 7.5, 1.25)


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


@pytest.mark.parametrize("state", [ollama.Ollama(), openai.OpenAi()])
def test_an_engine_without_ids_says_so(at: At, state: Peer) -> None:
    server = at(state)
    for ask in (lambda: server.client.tokens("a"), lambda: server.ask(replace(REQUEST, prompt=("a", 1)))):
        with pytest.raises(MeasureError, match="leave length out of the prompt classes"):
            ask()


def test_an_answer_that_ended_early_is_refused(at: At) -> None:
    answer = at(ollama.Ollama(ends_after=5)).ask(REQUEST)
    assert complaint(answer, 22, Arm.MTP) == "5 tokens came, 22 were asked for (eos)"


def test_an_answer_without_usage_says_that_its_tokens_are_not_known(at: At) -> None:
    with pytest.raises(MeasureError, match="has no usage, so it is not known how many tokens came"):
        at(openai.OpenAi(usage=False)).ask(REQUEST)


def test_sglang_may_stream_the_new_text_alone_instead_of_all_so_far(at: At) -> None:
    assert at(sglang.Sglang(disjoint=True)).ask(REQUEST).text == whole_text(22)


def test_an_older_sglang_has_its_info_elsewhere(at: At) -> None:
    assert at(sglang.Sglang(info_path="/get_server_info")).told(REQUEST).tau == TAU


# What goes wrong.


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


def test_another_clients_requests_make_the_counters_useless(at: At) -> None:
    server = at(vllm.Vllm(others=7))
    with pytest.raises(MeasureError, match=r"counted 29 tokens while it made the 22 .* another client's requests"):
        server.ask(REQUEST)


def test_counters_that_come_after_the_answer_are_waited_for(at: At) -> None:
    assert at(vllm.Vllm(lag=4)).told(REQUEST).tau == TAU


def test_a_server_that_was_started_anew_is_noticed(at: At) -> None:
    state = vllm.Vllm()
    server = at(state)
    server.ask(replace(REQUEST, n_predict=40))
    state.fault = "restarted"
    with pytest.raises(MeasureError, match="the server was started anew meanwhile"):
        server.ask(REQUEST)


def test_drafts_of_requests_at_the_same_time_are_not_told_apart(at: At) -> None:
    state = vllm.Vllm(together=Barrier(3))
    server = at(state)
    with ThreadPoolExecutor(3) as pool:
        told = list(pool.map(server.told, [REQUEST] * 3))
    assert [(one.tokens, one.drafts) for one in told] == [(22, None)] * 3
    state.together = None
    assert server.told(REQUEST).tau == TAU


def test_statistics_that_are_off_prove_and_tell_nothing(at: At) -> None:
    server = at(vllm.Vllm(metrics=False))
    knowledge = server.knowledge
    assert (knowledge.drafts, knowledge.speculation_proof) == (DraftSource.NOT_TOLD, False)
    assert server.told(REQUEST).drafts is None


def test_drafts_that_sglang_does_not_count_are_not_told(at: At) -> None:
    assert at(sglang.Sglang(counts=False)).told(REQUEST).drafts is None


# Who answers.


@pytest.mark.parametrize("state", [vllm.Vllm, sglang.Sglang])
def test_a_server_of_the_other_arm_is_an_imposter(at: At, state: Callable[..., Peer]) -> None:
    with pytest.raises(ServerImposter, match="mtp arm's server says that it does not speculate"):
        at(state(script=PLAIN))
    with pytest.raises(ServerImposter, match="plain arm's server says that it speculates"):
        at(state(), "plain={url}")


def test_an_engine_that_was_named_must_be_there(at: At) -> None:
    assert at(vllm.Vllm(), "mtp=openai:{url}").knowledge.engine is Engine.OPENAI
    with pytest.raises(ServerImposter, match=r"What answers at http://\S+ is not vLLM"):
        at(ollama.Ollama(), "mtp=vllm:{url}")


def test_a_server_of_no_known_engine_is_an_imposter(at: At) -> None:
    with pytest.raises(ServerImposter, match="is not a server of a known engine"):
        at(ollama.Ollama(fault=""), "mtp={url}/elsewhere")


def test_one_of_several_models_must_be_named(at: At) -> None:
    state = ollama.Ollama(models=("a:latest", "b:7b"))
    with pytest.raises(
        ServerImposter, match=r"has 2 models \(a:latest, b:7b\); name one behind the URL, as in \S+#MODEL"
    ):
        at(state)
    with pytest.raises(ServerImposter, match=r"has no model c; it has: a:latest, b:7b"):
        at(state, "mtp={url}#c")
    assert at(state, "mtp={url}#b:7b").model == "b:7b"
    assert at(state, "mtp={url}#a").model == "a"


def test_nobody_listening_is_late_with_the_mend(unused_port: int) -> None:
    with (
        pytest.raises(ServerLate, match=r"Nothing answers at http://127\.0\.0\.1:\d+: .* Start the server"),
        attach(parse_endpoint(f"mtp=http://127.0.0.1:{unused_port}")),
    ):
        pass


def test_a_key_is_sent_and_a_missing_one_is_named(at: At) -> None:
    state = vllm.Vllm(key="k")
    at(state, api_key="k").ask(REQUEST)
    assert state.asked[0]["key"] == "Bearer k"
    with pytest.raises(ServerImposter, match=r"HTTP 401: Unauthorized\. Put the server's key into .* MTP_ENDPOINT_KEY"):
        at(state)


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MTP_ENDPOINT_KEY", "k")
    assert endpoint_key() == "k"
    monkeypatch.setenv("MTP_ENDPOINT_KEY", "")
    assert endpoint_key() is None
