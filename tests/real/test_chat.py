"""The chat endpoint of the real server: the same texts and counts as raw, and thinking as it was said."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from pytest_mtp.core.build_spec import Build
from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.core.flags import negotiate
from pytest_mtp.core.precondition import complaint
from pytest_mtp.core.request import Answer, Chat, Request
from pytest_mtp.core.server_spec import Arm, ServerSpec, Speculation
from pytest_mtp.phantom.spec import PhantomSpec
from pytest_mtp.phantom.writer import write
from pytest_mtp.runtime.server import Server, serve
from tests.real.test_gate import arguments

TOKENS = 96
PHANTOM = PhantomSpec(
    seed=5,
    layers=4,
    n_embd=256,
    n_ff=512,
    chain_length=128,
    weights="q8_0",
    wrong=(("says", 0.1), ("thinks", 0.4)),
)
# A phantom has no words for the marks of a chat: what is rendered is one of its own prompts.
TEMPLATE = "{% if enable_thinking %}<|thinks|>{% else %}{{ messages[-1]['content'] }}{% endif %}"


@pytest.fixture(scope="module")
def servers(
    real_build: Build, real_capabilities: Capabilities, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Arm, Server]]:
    folder = tmp_path_factory.mktemp("chat")
    model = folder / "phantom.gguf"
    write(PHANTOM, model)
    with ExitStack() as stack:
        up = {}
        for arm in Arm:
            drafting = Speculation(n_max=3) if arm is Arm.MTP else None
            extra = ("--jinja", "--chat-template", TEMPLATE)
            spec = ServerSpec(model=str(model), ctx=512, gpu_layers=0, speculation=drafting, extra=extra)
            words = negotiate(spec, real_capabilities)
            life = serve(
                real_build.server, words, spec, folder / arm.value, start_timeout_s=60, capabilities=real_capabilities
            )
            up[arm] = stack.enter_context(life)
        yield up


def ask(server: Server, name: str, chat: Chat | None, *, stream: bool = False) -> Answer:
    request = Request(prompt=PHANTOM.prompt(name), n_predict=TOKENS, chat=chat, stream=stream)
    answer = server.ask(request)
    assert complaint(answer, TOKENS, server.arm) is None
    return answer


@pytest.mark.parametrize("arm", list(Arm))
@pytest.mark.parametrize(("thinking", "rendered"), [(False, "says"), (True, "thinks")])
def test_the_template_is_told_whether_to_think(
    thinking: bool,  # noqa: FBT001 - a parameter of the test
    rendered: str,
    arm: Arm,
    servers: dict[Arm, Server],
) -> None:
    chat, raw = ask(servers[arm], "says", Chat(thinking)), ask(servers[arm], rendered, None)
    assert (chat.text, chat.stop_type) == (raw.text, raw.stop_type)
    assert (chat.timings.draft_n, chat.timings.draft_n_accepted) == (raw.timings.draft_n, raw.timings.draft_n_accepted)


def test_a_chat_drafts_as_the_arithmetic_says(servers: dict[Arm, Server]) -> None:
    timings = ask(servers[Arm.MTP], "says", Chat(thinking=False)).timings
    walk = PHANTOM.expected("says", TOKENS, 3)
    assert (timings.draft_n, timings.draft_n_accepted) == (walk.draft_n, walk.draft_n_accepted)


@pytest.mark.parametrize("arm", list(Arm))
def test_a_streamed_chat_is_the_whole_one_with_a_time_for_every_token(arm: Arm, servers: dict[Arm, Server]) -> None:
    whole = ask(servers[arm], "says", Chat(thinking=False))
    streamed = ask(servers[arm], "says", Chat(thinking=False), stream=True)
    assert (streamed.text, streamed.stop_type) == (whole.text, whole.stop_type)
    same = replace(streamed.timings, prompt_ms=0, predicted_ms=0)
    assert same == replace(whole.timings, prompt_ms=0, predicted_ms=0)
    arrivals = streamed.arrivals_ms
    assert arrivals is not None
    assert len(arrivals) == TOKENS
    assert sorted(arrivals) == list(arrivals)
    # Not all at once: the counts come with the chunks.
    assert len(set(arrivals)) > TOKENS // 8


def test_the_gate_measures_chats_and_keeps_how_they_were_asked(pytester: pytest.Pytester, real_build: Build) -> None:
    template = "{{ messages[-1]['content'] }}"
    sets = (
        "request.endpoint=chat",
        "request.thinking=false",
        f'server.extra=["--jinja", "--chat-template", "{template}"]',
        "gates.looks=[2]",
    )
    words = [*(f"--mtp-set={one}" for one in sets), "--mtp-update-baselines=new"]
    result = pytester.runpytest_subprocess(*arguments(real_build.server, *words, "-k", "speedup or acceptance"))
    assert result.ret == pytest.ExitCode.OK
    (baseline,) = (pytester.path / "baselines").rglob("small.json")
    (recorded,) = json.loads(baseline.read_text())["recorded"]
    request = recorded["campaign"]["circumstances"]["request"]
    assert (request["endpoint"], request["thinking"]) == ("chat", "false")
