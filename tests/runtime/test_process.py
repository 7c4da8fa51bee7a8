import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from pytest_mtp.errors import ServerDied, ServerLate
from pytest_mtp.runtime.process import describe_exit, server_environment, spawn, stop, tail

DEADLINE_S = 30.0
WAIT = "import signal; signal.pause()"
DEAF = f"import os, signal; signal.signal(15, signal.SIG_IGN); print(os.getpid(), flush=True); {WAIT}"
STUBBORN = """
import signal, sys
seen = []
signal.signal(15, lambda *_: sys.exit(7) if seen else seen.append(1))
print("ready", flush=True)
while True:
    signal.pause()
"""


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "the condition never came true"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []

    def run(code: str) -> subprocess.Popen[bytes]:
        started.append(spawn([sys.executable, "-c", code], tmp_path / "log", server_environment()))
        return started[-1]

    yield run
    for process in started:
        stop(process, 0.1)


Start = Callable[[str], subprocess.Popen[bytes]]


def test_output_and_errors_go_to_the_log_in_a_session_of_its_own(start: Start, tmp_path: Path) -> None:
    process = start("import os, sys; print(os.getsid(0) == os.getpid(), flush=True); sys.exit(repr(sys.stdin.read()))")
    assert process.wait(DEADLINE_S) == 1
    assert tail(tmp_path / "log") == "True\n''"


def test_a_binary_that_cannot_start_is_named(tmp_path: Path) -> None:
    with pytest.raises(ServerDied, match=r"nowhere/llama-server cannot be started: No such file"):
        spawn(["nowhere/llama-server"], tmp_path / "log", {})


def test_a_process_that_listens_is_ended_by_the_first_sigterm(start: Start) -> None:
    process = start(WAIT)
    stop(process, DEADLINE_S)
    assert process.returncode == -signal.SIGTERM


def test_a_process_that_ends_at_the_second_sigterm_is_not_killed(start: Start, tmp_path: Path) -> None:
    process = start(STUBBORN)
    until(lambda: tail(tmp_path / "log") == "ready")
    stop(process, 1.0)
    assert process.returncode == 7


def test_a_deaf_process_is_killed_and_reaped(start: Start, tmp_path: Path) -> None:
    process = start(DEAF)
    until(lambda: tail(tmp_path / "log"))
    stop(process, 0.1)
    assert process.returncode == -signal.SIGKILL
    assert not psutil.pid_exists(process.pid)


def test_a_halted_process_ends_by_sigterm(start: Start) -> None:
    process = start(WAIT)
    process.send_signal(signal.SIGSTOP)
    until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_STOPPED)
    stop(process, DEADLINE_S)
    assert process.returncode == -signal.SIGTERM


@pytest.fixture
def frozen(start: Start) -> Iterator[subprocess.Popen[bytes]]:
    """A process that the kernel does not let run, not even to die of SIGKILL, as a driver that hangs keeps one."""
    group = Path(f"/sys/fs/cgroup/freezer/pytest-mtp-{os.getpid()}")
    process = start(WAIT)
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group (version 1) that freezes can be made here, which takes root: {error}")
    try:
        (group / "cgroup.procs").write_text(str(process.pid))
        (group / "freezer.state").write_text("FROZEN")
        until(lambda: (group / "freezer.state").read_text() == "FROZEN\n")
        yield process
    finally:
        (group / "freezer.state").write_text("THAWED")
        process.kill()
        process.wait(DEADLINE_S)
        until(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


def test_a_process_that_sigkill_does_not_end_is_said_and_not_waited_for(frozen: subprocess.Popen[bytes]) -> None:
    with pytest.raises(ServerLate, match=rf"Process {frozen.pid} does not end, not even by SIGKILL: it hangs in the"):
        stop(frozen, 0.1)
    assert psutil.pid_exists(frozen.pid)


def test_children_of_the_process_end_with_it(start: Start, tmp_path: Path) -> None:
    child = f"subprocess.Popen([sys.executable, '-c', {DEAF!r}])"
    process = start(f"import subprocess, sys, signal; {child}; signal.pause()")
    until(lambda: tail(tmp_path / "log"))
    pid = int(tail(tmp_path / "log"))
    assert pid != process.pid
    stop(process, DEADLINE_S)
    until(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)


def test_stopping_twice_is_safe(start: Start) -> None:
    process = start("pass")
    process.wait(DEADLINE_S)
    stop(process)
    stop(process)
    assert process.returncode == 0


def test_the_child_sees_allowed_variables_and_no_others(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"GGML_X": "1", "CUDA_VISIBLE_DEVICES": "0", "LC_ALL": "C", "TMPDIR": "/tmp"}
    dropped = ("LLAMA_ARG_SPEC_TYPE", "HF_TOKEN", "LLAMA_API_KEY", "PYTHONPATH")
    for name in (*kept, *dropped):
        monkeypatch.setenv(name, kept.get(name, "secret"))
    environment = psutil.Process(start(WAIT).pid).environ()
    assert {name: environment.get(name) for name in kept} == kept
    assert environment["PATH"] == os.environ["PATH"]
    assert not set(dropped) & set(environment)


@pytest.mark.parametrize(
    ("content", "lines", "expected"),
    [
        (b"", 3, ""),
        (b"a\nb\nc\nd\n", 2, "c\nd"),
        (b"a\nb", 5, "a\nb"),
        (b"\xff\xfe broken\n", 1, "\ufffd\ufffd broken"),
    ],
)
def test_tail_is_the_last_lines(tmp_path: Path, content: bytes, lines: int, expected: str) -> None:
    (tmp_path / "log").write_bytes(content)
    assert tail(tmp_path / "log", lines) == expected


def test_tail_reads_only_the_end_of_a_log(tmp_path: Path) -> None:
    # A file of holes: reading all of it would take its terabyte of memory.
    with (tmp_path / "log").open("wb") as log:
        log.seek(1 << 40)
        log.write(b"\nlast line\n")
    assert tail(tmp_path / "log", 1) == "last line"


def test_tail_of_no_log_is_empty(tmp_path: Path) -> None:
    assert tail(tmp_path / "none") == ""


@pytest.mark.parametrize(
    ("returncode", "said"),
    [
        (0, "ended with exit status 0"),
        (127, "shared library"),
        (-signal.SIGILL, "died of SIGILL (the binary uses instructions"),
        (-signal.SIGKILL, "out of memory"),
        (-signal.SIGSEGV, "died of SIGSEGV (it read memory"),
        (-signal.SIGABRT, "died of SIGABRT (it gave up on an internal check, which its log names)"),
        (-signal.SIGHUP, "died of SIGHUP"),
        (-99, "died of signal 99"),
    ],
)
def test_an_exit_is_described_with_what_it_usually_means(returncode: int, said: str) -> None:
    assert said in describe_exit(returncode)
