"""A server's life, its proof and its end; faults come from the fake llama-server."""

import signal
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.core.flags import negotiate
from pytest_mtp.core.request import Request
from pytest_mtp.core.server_log import lost_its_port
from pytest_mtp.core.server_spec import Arm, ServerSpec, Speculation
from pytest_mtp.errors import MeasureError, ServerDied, ServerImposter, ServerLate
from pytest_mtp.runtime.process import server_environment, spawn, stop, tail
from pytest_mtp.runtime.server import Server, serve
from tests.offspring import children

REQUEST = Request(prompt="Hi", n_predict=8, timeout_s=30)
Serve = Callable[..., Server]
Life = Callable[..., AbstractContextManager[Server]]


@pytest.fixture
def spec(tmp_path: Path) -> ServerSpec:
    return ServerSpec(model=str(tmp_path / "model.gguf"), ctx=512, gpu_layers=0, speculation=Speculation(n_max=3))


@pytest.fixture
def serve_once(fake_binary: Path, fake_capabilities: Capabilities, spec: ServerSpec, tmp_path: Path) -> Life:
    """The context of one server: the mtp arm unless told else, with further words on its command line."""

    def life(*words: str, spec: ServerSpec = spec, timeout_s: float = 30) -> AbstractContextManager[Server]:
        line, folder = (*negotiate(spec, fake_capabilities), *words), tmp_path / "server"
        return serve(fake_binary, line, spec, folder, start_timeout_s=timeout_s, capabilities=fake_capabilities)

    return life


@pytest.fixture
def start(serve_once: Life) -> Iterator[Serve]:
    """Start such a server; it ends with the test."""
    with ExitStack() as stack:
        yield lambda *words, **settings: stack.enter_context(serve_once(*words, **settings))


@pytest.mark.parametrize("speculation", [None, Speculation(n_max=3)])
def test_a_server_is_ready_proven_and_answers(start: Serve, spec: ServerSpec, speculation: Speculation | None) -> None:
    server = start(spec=replace(spec, speculation=speculation))
    assert server.arm is (Arm.PLAIN if speculation is None else Arm.MTP)
    assert server.ask(REQUEST).timings.drafted is (speculation is not None)
    assert server.load_s > 0
    assert f"listening on {server.port}" in server.log_text()


def test_the_command_is_what_ran_and_holds_no_secret(start: Serve) -> None:
    server = start()
    ran = psutil.Process(server.pid).cmdline()
    assert ran[2:] == list(server.command[1:])
    key_file = Path(server.command[server.command.index("--api-key-file") + 1])
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    assert key_file.read_text().strip() not in server.command_line


def test_nothing_is_left_when_the_block_ends(serve_once: Life, tmp_path: Path) -> None:
    with serve_once() as server:
        assert psutil.pid_exists(server.pid)
    assert server.process.returncode == -signal.SIGTERM
    assert not psutil.pid_exists(server.pid)
    assert [path.name for path in (tmp_path / "server").iterdir()] == ["server.log"]


def test_an_error_in_the_block_ends_the_server_too(serve_once: Life) -> None:
    with pytest.raises(ZeroDivisionError), serve_once():
        raise ZeroDivisionError
    assert children() == []


def test_a_server_that_dies_while_loading_says_how_and_shows_its_log(start: Serve) -> None:
    with pytest.raises(ServerDied, match=r"mtp server ended with exit status 1 before it was ready") as caught:
        start("--fault", "dies-loading")
    assert "failed to load model" in caught.value.log_tail
    assert "--fault dies-loading" in caught.value.command
    assert children() == []


def test_a_server_that_never_gets_ready_is_late_and_ended(start: Serve) -> None:
    with pytest.raises(ServerLate, match=r"mtp server was not ready within 0\.5 s"):
        start("--fault", "never-ready", timeout_s=0.5)
    assert children() == []


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ("wrong-model", r"it serves the model /another/model\.gguf, not .*model\.gguf"),
        ("not-speculative", r"/slots says speculative \[False\], and this arm needs True"),
        ("no-slots", r"it cannot prove what it is: /slots answered HTTP 501"),
        ("nul-model", r"it serves the model \x00{200}, not .*model\.gguf"),
        ("strange-slots", r"it cannot prove what it is: /slots answered str where dict belongs"),
    ],
)
def test_a_server_that_is_not_the_arm_is_an_imposter(start: Serve, fault: str, cause: str) -> None:
    with pytest.raises(ServerImposter, match=rf"is not the mtp server that was started: {cause}"):
        start("--fault", fault)
    assert children() == []


def test_a_plain_arm_that_drafts_is_an_imposter(start: Serve, spec: ServerSpec) -> None:
    with pytest.raises(ServerImposter, match=r"not the plain server .*speculative \[True\]"):
        start("--spec-type", "draft-mtp", spec=replace(spec, speculation=None))


def test_other_slots_than_asked_for_are_an_imposter(start: Serve) -> None:
    with pytest.raises(ServerImposter, match="it has 2 slots, not 1"):
        start("--fault", "two-slots")


def test_another_process_on_the_port_is_an_imposter(
    fake_binary: Path, fake_capabilities: Capabilities, spec: ServerSpec, tmp_path: Path
) -> None:
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(f'#!/bin/sh\n{fake_binary} "$@"\n')
    wrapper.chmod(0o755)
    life = serve(wrapper, negotiate(spec, fake_capabilities), spec, tmp_path, start_timeout_s=30)
    with pytest.raises(ServerImposter, match="the port belongs to another process"):
        life.__enter__()
    assert children() == []


def test_a_server_that_dies_of_a_request_is_dead_and_not_a_broken_connection(start: Serve) -> None:
    server = start("--fault", "dies-answering")
    with pytest.raises(ServerDied, match=r"died of SIGABRT .* while it answered a request") as caught:
        server.ask(REQUEST)
    assert "GGML_ASSERT(n_outputs_max" in caught.value.log_tail


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("SIGILL", "instructions this CPU does not have"),
        ("SIGSEGV", "it read memory that is not its own"),
        ("SIGKILL", "most often the kernel, out of memory"),
        ("SIGBUS", "check the disk"),
        ("CUDA", r"SIGABRT (?s:.*)the card's memory was full: (?s:.*)shorten the context \(server\.ctx\)"),
    ],
)
def test_each_way_to_die_is_explained(start: Serve, how: str, said: str) -> None:
    with pytest.raises(ServerDied, match=said):
        start("--fault", f"dies-answering={how}").ask(REQUEST)


def test_a_server_that_died_between_two_requests_is_not_said_to_have_died_of_one(start: Serve) -> None:
    server = start("--fault", "dies-between=SIGSEGV")
    assert server.ask(REQUEST).timings.predicted_n == 8
    server.process.wait(30)
    with pytest.raises(ServerDied, match=r"died of SIGSEGV .* before it was asked again"):
        server.ask(REQUEST)


def test_a_server_that_dies_while_its_counters_are_read_is_dead(start: Serve) -> None:
    server = start()

    def count() -> None:
        with server.answering():
            server.process.kill()
            server.client.accepted_per_position()

    with pytest.raises(ServerDied, match=r"died of SIGKILL .* while it answered a request"):
        count()


@pytest.mark.parametrize("fault", ["health-hangs", "health-drips", "hangs-at-start"])
def test_a_server_that_says_nothing_of_its_health_is_late(start: Serve, fault: str) -> None:
    with pytest.raises(ServerLate, match=r"mtp server was not ready within 0\.5 s"):
        start("--fault", fault, timeout_s=0.5)
    assert children() == []


def test_a_halted_server_is_late_and_ends_when_it_is_asked_to(serve_once: Life) -> None:
    with serve_once() as server:
        server.process.send_signal(signal.SIGSTOP)
        with pytest.raises(ServerLate, match="No answer to /completion"):
            server.ask(replace(REQUEST, timeout_s=0.3))
    assert server.process.returncode == -signal.SIGTERM


def test_only_the_beginning_of_a_log_without_end_is_read(start: Serve) -> None:
    server = start()
    with server.log.open("ab") as log:
        log.truncate(1 << 40)
    assert len(server.log_text()) == 8 * 2**20


def test_a_server_that_hangs_is_late_with_its_command(start: Serve) -> None:
    server = start("--fault", "hangs")
    with pytest.raises(ServerLate, match="No answer to /completion") as caught:
        server.ask(replace(REQUEST, timeout_s=0.1))
    assert caught.value.command == server.command_line


def test_an_unusable_answer_of_a_living_server_stays_what_it_is(start: Serve) -> None:
    with pytest.raises(MeasureError, match="HTTP 500"):
        start("--fault", "http-500").ask(REQUEST)


def test_flags_and_secrets_of_the_shell_do_not_reach_the_server(start: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LLAMA_ARG_SPEC_TYPE", "LLAMA_API_KEY", "HF_TOKEN", "GGML_CUDA_FORCE_MMQ"):
        monkeypatch.setenv(name, "1")
    server = start()
    environment = psutil.Process(server.pid).environ()
    assert not [name for name in environment if name.startswith(("LLAMA_", "HF_"))]
    assert environment["GGML_CUDA_FORCE_MMQ"] == server.environment["GGML_CUDA_FORCE_MMQ"] == "1"
    assert "PATH" not in server.environment


def test_a_port_that_another_process_took_is_replaced_once_more(start: Serve) -> None:
    assert start("--fault", "once:port-taken").ask(REQUEST).timings.predicted_n == 8


def test_a_port_that_is_always_taken_is_the_server_s_failure(start: Serve) -> None:
    with pytest.raises(ServerDied, match="couldn't bind HTTP server socket"):
        start("--fault", "port-taken")


def test_a_server_on_a_port_in_use_says_so(fake_binary: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        words = [str(fake_binary), "-m", str(tmp_path / "m"), "--port", str(port)]
        process = spawn(words, tmp_path / "log", server_environment())
        try:
            assert process.wait(30) == 1
        finally:
            stop(process)
    assert lost_its_port(tail(tmp_path / "log"))
