"""Who answers at an address, and whether it is the arm that it is said to be."""

from collections.abc import Callable

import pytest

from pytest_mtp.core.endpoint import Engine, parse_endpoint
from pytest_mtp.core.engine_answer.knowledge import DraftSource
from pytest_mtp.core.engine_answer.protocol import Clock
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.errors import ServerImposter, ServerLate, SettingsError
from pytest_mtp.runtime.engines.attached import _RECOGNISERS, Attached, attach, endpoint_key
from pytest_mtp.runtime.engines.protocol import Running
from pytest_mtp.runtime.server import Server
from tests.fakes.engines import ollama, openai, sglang, vllm
from tests.fakes.engines.peer import PLAIN, REQUEST, Peer
from tests.fakes.engines.speaking import Speaker
from tests.fakes.loopback import serving
from tests.runtime.engines.conftest import At


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


def test_a_key_that_no_header_can_carry_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MTP_ENDPOINT_KEY", "gehäim")
    with pytest.raises(SettingsError, match="MTP_ENDPOINT_KEY holds") as caught:
        endpoint_key()
    assert "häim" not in str(caught.value)
    monkeypatch.setenv("MTP_ENDPOINT_KEY", " k\n")
    assert endpoint_key() == "k"


def test_a_name_that_cannot_be_looked_up_is_said() -> None:
    with (
        pytest.raises(SettingsError, match=r"No server can be at http://xn--a: .* Correct the URL"),
        attach(parse_endpoint("mtp=http://xn--a")),
    ):
        pass


def test_an_answer_nested_without_end_is_of_no_known_engine() -> None:
    class Deep(Speaker):
        def do_GET(self) -> None:
            self.say(200, "[" * 200_000)

    with (
        serving(Deep) as url,
        pytest.raises(ServerImposter, match="not a server of a known engine"),
        attach(parse_endpoint(f"mtp={url}")),
    ):
        pass


def test_every_engine_can_be_recognised_and_what_all_can_answer_is_asked_last() -> None:
    assert set(_RECOGNISERS) == set(Engine)
    assert list(_RECOGNISERS)[-1] is Engine.OPENAI
