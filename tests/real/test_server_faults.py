"""A real llama-server that is killed, halted, starved of memory, or that wants a taken port."""

import signal
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from pytest_mtp.core.build_spec import Build
from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.core.flags import negotiate
from pytest_mtp.core.request import Request
from pytest_mtp.core.server_spec import ServerSpec, Speculation
from pytest_mtp.errors import ServerDied, ServerLate
from pytest_mtp.phantom.spec import PhantomSpec
from pytest_mtp.phantom.writer import write
from pytest_mtp.runtime.client import Client
from pytest_mtp.runtime.server import Server, serve

PHANTOM = PhantomSpec(
    seed=5, layers=4, n_embd=256, n_ff=512, chain_length=64, weights="q8_0", wrong=(("right", 0.0), ("mixed", 0.2))
)
LONG = Request(prompt=PHANTOM.prompt("mixed"), n_predict=8000, timeout_s=60)
SHORT = replace(LONG, n_predict=8)
DEADLINE_S = 60.0

Life = Callable[..., AbstractContextManager[Server]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("phantom") / "phantom.gguf"
    write(PHANTOM, path)
    return path


@pytest.fixture
def life(model: Path, real_build: Build, real_capabilities: Capabilities, tmp_path: Path) -> Life:
    """The context of one mtp server."""

    def serving(
        port: int | None = None, binary: Path = real_build.server, name: str = "a"
    ) -> AbstractContextManager[Server]:
        spec = ServerSpec(model=str(model), ctx=8192, gpu_layers=0, speculation=Speculation(n_max=3), port=port)
        line, folder = negotiate(spec, real_capabilities), tmp_path / name
        return serve(binary, line, spec, folder, start_timeout_s=DEADLINE_S, capabilities=real_capabilities)

    return serving


def while_it_answers(server: Server, act: Callable[[], None]) -> threading.Thread:
    """Do it once the server is in the middle of an answer, whose client waits in this thread."""

    def wait_and_act() -> None:
        deadline = time.monotonic() + DEADLINE_S
        with Client(f"http://127.0.0.1:{server.port}", key(server)) as another:
            while time.monotonic() < deadline:
                (slot,) = another.slots()
                if slot["is_processing"] and slot["next_token"][0]["n_decoded"] > 8:
                    act()
                    return

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    return thread


def key(server: Server) -> str:
    return Path(server.command[server.command.index("--api-key-file") + 1]).read_text().strip()


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (signal.SIGILL, "instructions this CPU does not have"),
        (signal.SIGSEGV, "it read memory that is not its own"),
        (signal.SIGABRT, "it gave up on an internal check"),
        (signal.SIGKILL, "most often the kernel, out of memory"),
    ],
)
def test_a_signal_in_the_middle_of_an_answer_is_named(number: signal.Signals, said: str, life: Life) -> None:
    with life() as server:
        killer = while_it_answers(server, lambda: server.process.send_signal(number))
        with pytest.raises(ServerDied, match=rf"died of {number.name} \(.*{said}.* while it answered a request"):
            server.ask(LONG)
        killer.join()


def test_a_server_that_is_halted_in_an_answer_is_late_and_then_ended(life: Life) -> None:
    with life() as server:
        halter = while_it_answers(server, lambda: server.process.send_signal(signal.SIGSTOP))
        with pytest.raises(ServerLate, match="No answer to /completion within 3 s"):
            server.ask(replace(LONG, timeout_s=3.0))
        halter.join()
    assert not psutil.pid_exists(server.pid)


def test_a_server_that_gets_no_memory_dies_with_a_mend(life: Life, real_build: Build, tmp_path: Path) -> None:
    limited = tmp_path / "llama-server"
    limited.write_text(f'#!/bin/sh\nulimit -c 0\nulimit -s 512\nulimit -v 150000\nexec {real_build.server} "$@"\n')
    limited.chmod(0o755)
    starting = life(binary=limited)
    with pytest.raises(ServerDied, match=r"died of SIGABRT .*machine's memory was full: end other programs"):
        starting.__enter__()
    assert psutil.Process().children() == []


def test_a_server_on_the_port_of_another_ends_and_the_other_answers_on(life: Life) -> None:
    with life() as first:
        second = life(first.port, name="b")
        with pytest.raises(ServerDied, match="couldn't bind HTTP server socket"):
            second.__enter__()
        assert first.ask(SHORT).timings.predicted_n == 8
