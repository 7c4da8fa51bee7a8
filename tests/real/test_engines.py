"""The adapter of a llama-server that already runs, on the real one: it tells what the managed way tells."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mtp.core.build_spec import Build
from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.core.endpoint import parse_endpoint
from pytest_mtp.core.engine_answer.protocol import Clock
from pytest_mtp.core.flags import negotiate
from pytest_mtp.core.precondition import complaint
from pytest_mtp.core.request import Request
from pytest_mtp.core.server_spec import Arm, ServerSpec, Speculation
from pytest_mtp.errors import ServerImposter
from pytest_mtp.phantom.spec import PhantomSpec
from pytest_mtp.phantom.writer import write
from pytest_mtp.runtime.engines.attached import Attached, attach
from pytest_mtp.runtime.server import Server, serve

TOKENS = 64
N_MAX = 3
WRONG = (("miss00", 0.0), ("miss20", 0.2), ("miss60", 0.6))
# A step takes milliseconds, so that a client which is kept waiting a moment still sees when tokens came.
PHANTOM = PhantomSpec(seed=5, layers=8, n_embd=512, n_ff=1536, chain_length=128, weights="f16", wrong=WRONG)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("phantom") / "phantom.gguf"
    write(PHANTOM, path)
    return path


@pytest.fixture(scope="module")
def servers(
    model: Path, real_build: Build, real_capabilities: Capabilities, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Arm, Server]]:
    """Both arms, as somebody else would have started them."""
    mtp = ServerSpec(model=str(model), ctx=512, gpu_layers=0, speculation=Speculation(n_max=N_MAX))
    with ExitStack() as stack:
        yield {
            spec.arm: stack.enter_context(
                serve(
                    real_build.server,
                    negotiate(spec, real_capabilities),
                    spec,
                    tmp_path_factory.mktemp(spec.arm.value),
                    start_timeout_s=60,
                    capabilities=real_capabilities,
                )
            )
            for spec in (mtp, replace(mtp, speculation=None))
        }


def key(server: Server) -> str:
    return Path(server.command[server.command.index("--api-key-file") + 1]).read_text().strip()


@pytest.fixture
def attached(servers: dict[Arm, Server]) -> Iterator[dict[Arm, Attached]]:
    """The same servers, found at their addresses."""
    with ExitStack() as stack:
        yield {
            arm: stack.enter_context(
                attach(parse_endpoint(f"{arm.value}=http://127.0.0.1:{server.port}/v1"), key(server))
            )
            for arm, server in servers.items()
        }


@pytest.mark.parametrize("name", [name for name, _ in WRONG])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_tau_is_that_of_the_managed_way_and_of_arithmetic(
    servers: dict[Arm, Server],
    attached: dict[Arm, Attached],
    name: str,
    stream: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    request = Request(prompt=PHANTOM.prompt(name), n_predict=TOKENS, stream=stream)
    managed, told = servers[Arm.MTP].ask(request), attached[Arm.MTP].told(request)
    walk = PHANTOM.expected(name, TOKENS, N_MAX)
    assert told.drafts is not None
    assert (told.drafts.steps, told.drafts.drafted, told.drafts.accepted) == (
        walk.steps,
        walk.draft_n,
        walk.draft_n_accepted,
    )
    assert told.tau == managed.timings.tau == told.answer().timings.tau
    assert (told.text, told.tokens, told.clock) == (managed.text, TOKENS, Clock.SERVER)
    assert told.answer().timings.prompt_n == managed.timings.prompt_n
    assert complaint(told.answer(), TOKENS, Arm.MTP) is None
    assert (told.arrivals_ms is not None) is stream


def test_the_plain_arm_is_proven_and_drafts_nothing(attached: dict[Arm, Attached]) -> None:
    plain = attached[Arm.PLAIN]
    told = plain.told(Request(prompt=PHANTOM.prompt("miss00"), n_predict=TOKENS))
    assert (plain.client.speculative(), told.tau) == (False, 1)
    assert complaint(told.answer(), TOKENS, Arm.PLAIN) is None


def test_a_llama_server_tells_everything(attached: dict[Arm, Attached], model: Path) -> None:
    server = attached[Arm.MTP]
    assert server.knowledge.sentences() == (
        "Times of llama-server are by the server's own clock.",
        "Drafts are told with every answer.",
    )
    assert server.model == str(model)
    assert "llama-server b" in server.command_line
    assert server.client.tokens("a") == attached[Arm.PLAIN].client.tokens("a")
    server.ask(Request(prompt=PHANTOM.prompt("miss00"), n_predict=TOKENS))
    positions = server.client.accepted_per_position()
    assert positions is not None
    assert len(positions) == N_MAX


def test_the_other_arm_another_engine_and_another_model_are_imposters(servers: dict[Arm, Server]) -> None:
    server = servers[Arm.PLAIN]
    url = f"http://127.0.0.1:{server.port}"
    for said, cause in (
        (f"mtp={url}", "mtp arm's server says that it does not speculate"),
        (f"plain=vllm:{url}", "is not vLLM"),
        (f"plain=ollama:{url}", "is not Ollama"),
        (f"plain=sglang:{url}", "is not SGLang"),
        (f"plain={url}#other.gguf", r"not other\.gguf"),
    ):
        with pytest.raises(ServerImposter, match=cause), attach(parse_endpoint(said), key(server)):
            pass


def test_it_can_be_asked_as_an_openai_compatible_server(servers: dict[Arm, Server]) -> None:
    server = servers[Arm.MTP]
    with attach(parse_endpoint(f"mtp=openai:http://127.0.0.1:{server.port}"), key(server)) as found:
        told = found.told(Request(prompt=PHANTOM.prompt("miss20"), n_predict=TOKENS))
    managed = server.ask(Request(prompt=PHANTOM.prompt("miss20"), n_predict=TOKENS))
    assert (told.text, told.tokens, told.clock, told.drafts) == (managed.text, TOKENS, Clock.CLIENT, None)
    assert 0 < told.decode_ms < told.wall_ms


def test_without_its_key_the_mend_is_named(servers: dict[Arm, Server]) -> None:
    with (
        pytest.raises(ServerImposter, match=r"HTTP 401: .* MTP_ENDPOINT_KEY"),
        attach(parse_endpoint(f"mtp=http://127.0.0.1:{servers[Arm.MTP].port}")),
    ):
        pass
