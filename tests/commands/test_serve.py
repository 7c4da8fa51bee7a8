import argparse
import contextlib
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from pytest_mtp.commands import serve
from pytest_mtp.core.profile import Profile
from pytest_mtp.errors import SettingsError
from pytest_mtp.runtime.profiles import load_profile
from tests.real.conftest import SMALL

FAKE = Path(__file__).parents[1] / "fakes" / "llama_server.py"
PATIENCE_S = 60.0

Started = Callable[..., subprocess.Popen[str]]


def program(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def fake_server(folder: Path, fault: str = "") -> Path:
    more = f"--fault {fault}" if fault else ""
    return program(folder, "llama-server", f'exec {shlex.quote(sys.executable)} {shlex.quote(str(FAKE))} "$@" {more}')


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Started]:
    """Start the command against a fake llama-server; killed in the end, so that no read waits for ever."""
    started = []

    def start(*words: str, fault: str = "") -> subprocess.Popen[str]:
        server = fake_server(tmp_path, fault)
        fixed = ("--profile", str(SMALL), "--cache-dir", str(tmp_path / "cache"), "--source", f"bin:{server}")
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest_mtp.cli", "serve", *fixed, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        )
        timer = threading.Timer(PATIENCE_S, process.kill)
        timer.start()
        started.append((process, timer))
        return process

    yield start
    for process, timer in started:
        timer.cancel()
        process.kill()
        process.communicate()


def announced(process: subprocess.Popen[str]) -> str:
    """What it says of a server that is ready."""
    assert process.stdout is not None
    said = ""
    while line := process.stdout.readline():
        said += line
        if line.startswith("Ctrl-C"):
            return said
    pytest.fail(f"it ended without a server: {said}{process.communicate()[1]}")


def url_of(said: str) -> str:
    return next(word.rstrip("/") for word in said.split() if word.startswith("http://"))


def wish(*words: str) -> "serve._Wish":
    parser = argparse.ArgumentParser()
    serve.add_arguments(parser)
    return serve._wish(parser.parse_args(words))


def small() -> Profile:
    return load_profile(str(SMALL))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_serves_until_it_is_told_to_stop(command: Started, number: signal.Signals, tmp_path: Path) -> None:
    process = command("--port", "0")
    said = announced(process)
    server = psutil.Process(process.pid).children()[0]
    assert httpx.get(f"{url_of(said)}/slots").json()[0]["speculative"] is True
    process.send_signal(number)
    assert process.wait() == 0
    assert not server.is_running()
    assert not list(tmp_path.glob("pytest-mtp-serve-*"))


def test_the_plain_arm_does_not_draft_and_needs_no_key(command: Started) -> None:
    said = announced(command("--port", "0", "--arm", "plain"))
    assert "The plain server of small is ready (flag set n3, model phantom, llama.cpp llama-server" in said
    assert httpx.get(f"{url_of(said)}/slots").json()[0]["speculative"] is False
    assert "api-key" not in said


def test_a_binary_without_a_page_serves_the_api_and_says_so(command: Started) -> None:
    said = announced(command("--port", "0"))
    assert "Only the API is served, at http://127.0.0.1:" in said
    assert "(no web page: this binary brings none" in said


def test_an_open_host_is_warned_of(command: Started) -> None:
    process = command("--port", "0", "--host", "0.0.0.0")
    assert httpx.get(f"{url_of(announced(process))}/health").status_code == 200
    process.send_signal(signal.SIGINT)
    assert "Warning: Listening on 0.0.0.0: there is no key" in process.communicate()[1]


def test_a_server_that_dies_takes_the_command_with_it(command: Started, tmp_path: Path) -> None:
    process = command("--port", "0", fault="dies-answering")
    url = url_of(announced(process))
    with pytest.raises(httpx.TransportError):
        httpx.post(f"{url}/completion", json={"n_predict": 4})
    _, complaint = process.communicate()
    assert process.returncode == 1
    assert "The mtp server died of SIGABRT" in complaint
    assert "while it served" in complaint
    assert "GGML_ASSERT(n_outputs_max" in complaint
    assert list(tmp_path.glob("pytest-mtp-serve-*/server.log"))


def test_a_server_that_does_not_start_is_told_with_its_log(command: Started, tmp_path: Path) -> None:
    process = command("--port", "0", fault="dies-loading")
    _, complaint = process.communicate()
    assert process.returncode == 1
    assert "before it was ready" in complaint
    assert "error: failed to load model" in complaint
    assert "Traceback" not in complaint
    assert f"Its whole log: {next(tmp_path.glob('pytest-mtp-serve-*/server.log'))}" in complaint


def test_an_interrupt_while_the_server_loads_leaves_nothing(command: Started, tmp_path: Path) -> None:
    process = command("--port", "0", fault="never-ready")
    # Its program has begun: a signal at the fork itself is lost in the hook of filelock.
    while not any("never-ready" in child.cmdline() for child in psutil.Process(process.pid).children()):
        time.sleep(0.05)
    # Python drops an interrupt that falls into a finalizer; a person presses Ctrl-C again.
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
    assert process.returncode == 130
    assert not list(tmp_path.glob("pytest-mtp-serve-*"))


def test_the_terminal_is_given_to_llama_cli_with_the_same_flags(command: Started, tmp_path: Path) -> None:
    program(tmp_path, "llama-cli", f'[ "$1" = --help ] && exec {sys.executable} {FAKE} --help\necho "$@"; exit 7')
    process = command("--cli")
    said, line = process.communicate()
    assert process.returncode == 7
    assert f"-m {tmp_path}/cache/phantom/" in said
    assert "--spec-type draft-mtp --spec-draft-n-max 3" in said
    assert f"The same without pytest-mtp:\n{tmp_path}/llama-cli {said.strip()}\n" in line


def test_a_binary_without_llama_cli_beside_it_says_so(command: Started) -> None:
    process = command("--cli")
    assert "llama-cli; give a --source that is compiled" in process.communicate()[1]
    assert process.returncode == 2


def test_the_server_is_the_gates_but_for_where_it_listens() -> None:
    asked = wish("--profile", str(SMALL), "--port", "0").spec(Path("/m.gguf"))
    gate = small().server_spec("n3", model="/m.gguf", speculative=True)
    assert {name for name in gate.__slots__ if getattr(gate, name) != getattr(asked, name)} == {"port"}


def test_a_profile_that_would_listen_everywhere_is_kept_on_loopback(unused_port: int) -> None:
    words = ("--profile", str(SMALL), "--set", "server.serve_host=0.0.0.0", "--set")
    asked = wish(*words, f"server.serve_port={unused_port}")
    assert (asked.host, asked.port) == ("127.0.0.1", unused_port)


@pytest.fixture
def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port: int = holder.getsockname()[1]
    return port


def test_a_taken_port_is_refused_before_anything_is_built() -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        with pytest.raises(SettingsError, match=rf"port {port} of 127.0.0.1 \(Address already in use\)"):
            wish("--profile", str(SMALL), "--port", str(port))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--cli", "--port", "1"), "--cli starts no server"),
        (("--set", "flag_sets.n1={n_max=1,p_min=0}", "--flag-set", "n3", "--flag-set", "n1"), "not with n3 and n1"),
        (("--gpu-id", "0"), "--mtp-gpu-id 0 chooses a card, and the backend cpu has none to choose"),
        (("--flag-set", "n4"), "the profile small has n3"),
    ],
)
def test_what_makes_no_sense_is_refused(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        wish("--profile", str(SMALL), *words)
