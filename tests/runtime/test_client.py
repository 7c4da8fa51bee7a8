"""The client against a server process; faults come from the fake llama-server."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.core.flags import negotiate
from pytest_mtp.core.request import Chat, Request
from pytest_mtp.core.server_spec import ServerSpec, Speculation
from pytest_mtp.errors import MeasureError, ServerLate
from pytest_mtp.runtime.client import Client
from pytest_mtp.runtime.server import Server, serve

REQUEST = Request(prompt="Hi", n_predict=8, timeout_s=30)
SPEC = ServerSpec(model="model.gguf", ctx=512, gpu_layers=0, speculation=Speculation(n_max=3))
Serve = Callable[..., Server]


@pytest.fixture
def start(fake_binary: Path, fake_capabilities: Capabilities, tmp_path: Path) -> Iterator[Serve]:
    """Serve the mtp arm with a fault; ended with the test."""
    with ExitStack() as stack:

        def run(*fault: str) -> Server:
            words = (*negotiate(SPEC, fake_capabilities), *fault)
            life = serve(fake_binary, words, SPEC, tmp_path, start_timeout_s=30, capabilities=fake_capabilities)
            return stack.enter_context(life)

        yield run


def test_an_answer_has_text_timings_and_the_time_that_passed(start: Serve) -> None:
    answer = start().client.complete(REQUEST)
    assert (answer.text, answer.stop_type) == ("x " * 8, "limit")
    assert (answer.timings.predicted_n, answer.timings.draft_n_accepted, answer.timings.tau) == (8, 5, 3.5)
    assert answer.wall_ms > 0


def test_a_chat_answer_is_what_was_thought_and_said(start: Serve) -> None:
    answer = start().client.complete(Request(prompt="Hi", n_predict=8, timeout_s=30, chat=Chat(thinking=True)))
    assert (answer.text, answer.stop_type) == ("hm " + "x " * 7, "limit")
    assert (answer.timings.predicted_n, answer.timings.draft_n_accepted) == (8, 5)


def test_a_chat_that_fails_is_named_by_its_endpoint(start: Serve) -> None:
    with pytest.raises(MeasureError, match="/v1/chat/completions answered HTTP 500: the context is full"):
        start("--fault", "http-500").client.complete(
            Request(prompt="Hi", n_predict=8, timeout_s=30, chat=Chat(thinking=False))
        )


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ("no-timings", r"has no timings"),
        ("no-json", r"/completion answered no JSON: '<html>'"),
        ("http-500", r"/completion answered HTTP 500: the context is full"),
        ("http-503", r"/completion answered HTTP 503: the context is full"),
        ("redirect", r"/completion answered HTTP 302"),
        ("hangs-up", r"connection broke before /completion was answered"),
        ("half", r"connection broke before /completion was answered"),
        ("no-http", r"connection broke before /completion was answered"),
        ("no-gzip", r"connection broke before /completion was answered"),
        ("floods", r"/completion answered more than 64 MiB"),
        ("deep", r"/completion answered no JSON: '\[{200}'"),
        ("list", r"/completion answered list where dict belongs"),
        ("nothing", r"/completion answered no JSON: ''"),
        ("no-text", r"content or stop_type is no text"),
        ("nan", r"timings\.predicted_ms of the answer is nan"),
        ("negative", r"timings\.predicted_ms of the answer is -5\.0"),
        ("number-of-401-digits", r"timings\.prompt_ms of the answer is 10{59};"),
        ("count-of-401-digits", r"timings\.prompt_n of the answer is 10{59};"),
        ("half-a-token", r"timings\.predicted_n of the answer is 8\.5"),
        ("more-accepted-than-drafted", r"draft_n_accepted is 3, above draft_n 2"),
    ],
)
def test_an_answer_that_is_no_measurement_says_why(start: Serve, fault: str, cause: str) -> None:
    with pytest.raises(MeasureError, match=cause):
        start("--fault", fault).client.complete(REQUEST)


def test_a_server_that_hangs_is_late(start: Serve) -> None:
    server = start("--fault", "hangs")
    with pytest.raises(ServerLate, match=r"No answer to /completion within 0\.1 s"):
        server.client.complete(Request(prompt="Hi", n_predict=8, timeout_s=0.1))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", ["drips", "drips-headers", "asks-to-go-on"])
def test_an_answer_that_never_ends_is_late_although_bytes_keep_coming(start: Serve, fault: str, stream: bool) -> None:  # noqa: FBT001 - parametrized
    server = start("--fault", fault)
    with pytest.raises(ServerLate, match=r"No answer to /completion within 0\.3 s"):
        server.client.complete(Request(prompt="Hi", n_predict=8, timeout_s=0.3, stream=stream))


def test_ids_of_tokens_that_are_none_are_refused(start: Serve) -> None:
    with pytest.raises(MeasureError, match="/tokenize answered str where int belongs"):
        start("--fault", "strange-tokens").client.tokens("Hi")


def test_counters_that_are_no_numbers_are_refused(start: Serve) -> None:
    with pytest.raises(MeasureError, match="/metrics counts nan accepted drafts"):
        start("--fault", "nan-metrics").client.accepted_per_position()


def test_nobody_listening_is_not_healthy_and_no_crash(unused_port: int) -> None:
    with Client(f"http://127.0.0.1:{unused_port}") as client:
        assert client.health() is False
        with pytest.raises(MeasureError, match="connection broke before /props was answered"):
            client.props()


def test_counters_are_read_with_their_labels_and_without_gauges(start: Serve) -> None:
    client = start().client
    before = client.counters()
    client.complete(REQUEST)
    after = client.counters()
    assert after["llamacpp:n_decode_total"] - before["llamacpp:n_decode_total"] == 2
    assert 'llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="0"}' in after
    assert not [name for name in after if "seconds" in name]


def test_positions_are_counted_from_the_first_draft_on(start: Serve) -> None:
    client = start().client
    assert client.accepted_per_position() is None
    client.complete(REQUEST)
    assert client.accepted_per_position() == (2, 2, 1)


def test_broken_metrics_are_named(start: Serve) -> None:
    with pytest.raises(MeasureError, match="/metrics is no Prometheus text"):
        start("--fault", "broken-metrics").client.counters()


def test_a_missing_key_is_told_in_the_server_s_words(start: Serve) -> None:
    with (
        Client(f"http://127.0.0.1:{start().port}") as stranger,
        pytest.raises(MeasureError, match="/props answered HTTP 401: Invalid API Key"),
    ):
        stranger.props()


def test_proxies_are_ignored(start: Serve, monkeypatch: pytest.MonkeyPatch, unused_port: int) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{unused_port}")
    assert start().client.complete(REQUEST).timings.predicted_n == 8
