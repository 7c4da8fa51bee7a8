"""The life of a vLLM of our own; a stand-in takes its command line."""

import shlex
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from pytest_mtp.core.request import Request
from pytest_mtp.core.server_spec import Arm, ServerSpec, Speculation
from pytest_mtp.errors import FlagError, ServerDied, ServerImposter, ServerLate
from pytest_mtp.runtime.engines.protocol import Running
from pytest_mtp.runtime.engines.vllm_launch import Launched, serve_vllm
from tests.offspring import children

REQUEST = Request(prompt="how is the sea", n_predict=7, timeout_s=10)
SPEC = ServerSpec(model="org/model", ctx=4096, gpu_layers=99, speculation=Speculation(n_max=2))
ROOT = Path(__file__).parents[2]

Life = Callable[..., AbstractContextManager[Launched]]


def executable(path: Path, *words: str) -> str:
    """A ``vllm`` that is the stand-in; ``words`` come after those it is given."""
    run = shlex.join(["exec", sys.executable, "-m", "tests.fakes.engines.vllm"])
    path.write_text(f'#!/bin/sh\nexport PYTHONPATH={shlex.quote(str(ROOT))}\n{run} "$@" {shlex.join(words)}\n')
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def life(tmp_path: Path) -> Life:
    binary = executable(tmp_path / "vllm")

    def run(spec: ServerSpec = SPEC, timeout_s: float = 30, binary: str = binary) -> AbstractContextManager[Launched]:
        return serve_vllm(binary, spec, tmp_path / "server", start_timeout_s=timeout_s)

    return run


def running(server: Launched) -> Running:
    """For the type checker: it is what a campaign asks."""
    return server


def test_a_vllm_is_ready_proven_and_answers(life: Life) -> None:
    # Steps accept 1 0 1 0 of 2 drafts: 2 1 2 1 tokens after the first.
    with life() as server:
        told = server.told(REQUEST)
        assert (told.tau, server.ask(REQUEST).timings.tau, told.tokens) == (6 / 4, 6 / 4, 7)
        assert (running(server).arm, server.model) == (Arm.MTP, "org/model")
        assert server.load_s > 0
        assert "Starting vLLM server" in server.log_text()
        assert "Starting vLLM server" in server.tail()
        assert psutil.pid_exists(server.pid)
    assert children() == []


def test_a_plain_arm_drafts_nothing(life: Life) -> None:
    with life(replace(SPEC, speculation=None, alias="plain")) as server:
        assert (server.arm, server.model, server.told(REQUEST).tau) == (Arm.PLAIN, "plain", 1)


def test_the_command_is_what_ran_and_the_key_is_not_in_it(life: Life) -> None:
    with life() as server:
        process = psutil.Process(server.pid)
        assert process.cmdline()[3:] == list(server.command[1:])
        key = process.environ()["VLLM_API_KEY"]
        assert key not in server.command_line
        assert "VLLM_API_KEY" not in server.environment


def test_variables_of_vllm_pass_and_secrets_do_not(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VLLM_USE_V1", "VLLM_API_KEY", "HF_TOKEN", "MTP_ENDPOINT_KEY"):
        monkeypatch.setenv(name, "of the shell")
    with life() as server:
        seen = psutil.Process(server.pid).environ()
        assert (seen["VLLM_USE_V1"], server.environment["VLLM_USE_V1"]) == ("of the shell", "of the shell")
        assert seen["VLLM_API_KEY"] != "of the shell"
        assert not {"HF_TOKEN", "MTP_ENDPOINT_KEY"} & set(seen)
        assert "VLLM_API_KEY" not in server.environment


def test_a_vllm_that_dies_while_loading_says_how_and_shows_its_log(life: Life) -> None:
    with (
        pytest.raises(ServerDied, match="mtp vLLM ended with exit status 1 before it was ready") as caught,
        life(replace(SPEC, model="dies")),
    ):
        pass
    assert "architecture is not supported" in caught.value.log_tail
    assert "serve dies" in caught.value.command
    assert children() == []


def test_a_vllm_that_never_gets_ready_is_late_and_ended(life: Life) -> None:
    with (
        pytest.raises(ServerLate, match=r"mtp vLLM was not ready within 0\.5 s"),
        life(replace(SPEC, model="never"), 0.5),
    ):
        pass
    assert children() == []


def test_a_vllm_that_dies_of_a_request_is_dead_and_not_a_broken_connection(life: Life) -> None:
    with (
        life(replace(SPEC, model="aborts")) as server,
        pytest.raises(ServerDied, match=r"died of SIGABRT .* while it answered a request"),
    ):
        server.ask(REQUEST)
    assert children() == []


def test_a_vllm_that_does_not_speculate_as_asked_is_an_imposter(life: Life, tmp_path: Path) -> None:
    deaf = executable(tmp_path / "deaf", "--speculative-config", '{"num_speculative_tokens":2}')
    with (
        pytest.raises(ServerImposter, match="plain arm's server says that it speculates") as caught,
        life(replace(SPEC, speculation=None), binary=deaf),
    ):
        pass
    assert caught.value.command.startswith(deaf)
    assert children() == []


def test_what_vllm_has_no_word_for_is_refused_before_anything_starts(life: Life) -> None:
    with pytest.raises(FlagError, match=r"server\.threads"), life(replace(SPEC, threads=4)):
        pass


def test_a_missing_vllm_is_named(life: Life, tmp_path: Path) -> None:
    with pytest.raises(ServerDied, match="cannot be started"), life(binary=str(tmp_path / "none")):
        pass
