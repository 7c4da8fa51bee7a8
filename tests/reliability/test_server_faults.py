"""Whole runs over a server that commits a fault: exit status, verdict, sentence, report, and nothing left running."""

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import psutil
import pytest

import pytest_mtp.runtime.server
import tests.plugin.conftest  # noqa: F401 - loads what runs inside this process share
from pytest_mtp.runtime.process import stop
from tests.plugin.gates import fake_gate, fake_server

_MEMORY = Path("/sys/fs/cgroup/memory")
_ONE_CLASS = '--mtp-set=classes=[{ name = "a", prompt = "A", floor = 3.9 }]'
_QUICK = ("-k", "speedup", _ONE_CLASS, "--mtp-set=gates.replacements=0", "--mtp-json=r.json")

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """The gate's own question about one class, asked of servers with a fault; no process outlives it."""
    # The lock of the device: other tests do not wait for these.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    # What the memory gives is asked before every block, for half of the time that a run of these takes.
    monkeypatch.setattr("pytest_mtp.planning.read_bandwidth", lambda: 20e9)
    before = set(psutil.Process().children(recursive=True))
    ask = fake_gate(pytester, tmp_path)

    def faulty(fault: str, *more: str) -> pytest.RunResult:
        return ask(f"--mtp-source={fake_server(tmp_path / 'faulty', fault)}", *_QUICK, *more)

    yield faulty
    left = [one for one in psutil.Process().children(recursive=True) if one not in before]
    for one in left:
        with suppress(psutil.NoSuchProcess):
            one.kill()
    assert left == []


def ended(done: pytest.RunResult, said: str) -> tuple[int, dict[str, int]]:
    """How a run ended, and what of its tests; it says so in these words, and never ends in a traceback."""
    # A sentence goes on in the next line, wherever the terminal is narrow.
    text = " ".join(done.stdout.str().split())
    assert re.search(".*".join(map(re.escape, said.split("*"))), text) is not None, text
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text
    counted = {name: number for name, number in done.parseoutcomes().items() if name not in {"deselected", "warnings"}}
    return int(done.ret), counted


ERROR, RED, OPEN, GREEN = {"errors": 1}, {"failed": 1}, {"skipped": 1}, {"passed": 1}


@pytest.mark.parametrize(
    ("fault", "status", "outcomes", "said"),
    [
        # Without a help nothing is known of the binary, so that nothing is started.
        ("dies-at-help=SIGILL", 1, ERROR, "died of SIGILL (the binary uses instructions*GGML_NATIVE=OFF"),
        ("dies-loading", 1, ERROR, "the plain arm failed in start: *ended with exit status 1 before it was ready"),
        ("dies-loading=SIGSEGV", 1, ERROR, "died of SIGSEGV (it read memory that is not its own"),
        ("mtp:dies-loading=SIGABRT", 1, RED, "REGRESSION: the mtp arm failed in start*died of SIGABRT"),
        ("mtp:dies-loading=CUDA", 1, RED, "the card's memory was full: *server.ctx*server.gpu_layers"),
        ("mtp:dies-answering=SIGKILL", 1, RED, "REGRESSION: the mtp arm failed in warm-up*SIGKILL*out of memory"),
        ("mtp:no-timings", 1, RED, "REGRESSION: the mtp arm failed in warm-up: The answer has no timings"),
        ("mtp:dies-answering=SIGSEGV@2", 17, OPEN, "INVALID: only 0 valid blocks*died of SIGSEGV*while it answered"),
        ("plain:dies-between=SIGBUS@1", 17, OPEN, "INVALID: only 0 valid blocks*plain server died of SIGBUS"),
        ("half@2", 17, OPEN, "INVALID: *connection broke before /completion was answered"),
        ("no-json@2", 17, OPEN, "INVALID: */completion answered no JSON: '<html>'"),
        ("http-503@2", 17, OPEN, "INVALID: */completion answered HTTP 503: the context is full"),
        ("nan@2", 17, OPEN, "INVALID: *timings.predicted_ms of the answer is nan"),
        ("negative@2", 17, OPEN, "INVALID: *timings.predicted_ms of the answer is -5.0"),
        ("too-many@2", 17, OPEN, "INVALID: *10 tokens came, 9 were asked for"),
        ("another-listens", 1, ERROR, "What answers on port * is not the plain server that was started"),
        ("once:port-taken", 0, GREEN, "1 passed"),
    ],
)
def test_a_fault_ends_in_its_verdict(fault: str, status: int, outcomes: dict[str, int], said: str, run: Run) -> None:
    assert ended(run(fault), said) == (status, outcomes)


@pytest.mark.parametrize(
    ("fault", "patience", "status", "outcomes", "said"),
    [
        ("hangs-at-start", "measure.start_timeout_s", 1, ERROR, "The plain server was not ready within 1 s"),
        ("never-ready", "measure.start_timeout_s", 1, ERROR, "The plain server was not ready within 1 s"),
        ("health-drips", "measure.start_timeout_s", 1, ERROR, "The plain server was not ready within 1 s"),
        (
            "mtp:hangs@2",
            "request.timeout_s",
            17,
            OPEN,
            "INVALID: *No answer to /completion within 1 s; the server hangs",
        ),
        (
            "mtp:drips@2",
            "request.timeout_s",
            17,
            OPEN,
            "INVALID: *No answer to /completion within 1 s; the server hangs",
        ),
    ],
)
def test_a_server_that_hangs_is_not_waited_for(
    fault: str, patience: str, status: int, outcomes: dict[str, int], said: str, run: Run
) -> None:
    assert ended(run(fault, f"--mtp-set={patience}=1"), said) == (status, outcomes)


def test_a_server_that_ignores_sigterm_costs_no_verdict(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytest_mtp.runtime.server, "stop", partial(stop, grace_s=0.1))
    assert ended(run("deaf"), "1 passed") == (0, GREEN)


def test_a_block_that_a_server_spoilt_is_measured_again(run: Run, pytester: pytest.Pytester) -> None:
    done = run("once:mtp:dies-answering@2", "--mtp-set=gates.replacements=1")
    assert ended(done, "1 passed") == (0, GREEN)
    (judged,) = json.loads((pytester.path / "r.json").read_text())["judged"]
    invalid = [str(block["invalid"]) for block in judged["campaign"]["blocks"] if block["invalid"]]
    assert len(invalid) == 1
    assert "The mtp server died of SIGABRT" in invalid[0]


@pytest.mark.parametrize("when", ["prints", "prints-answering"])
def test_a_server_that_prints_100_mb_is_measured(when: str, run: Run) -> None:
    assert ended(run(f"once:mtp:{when}=100"), "1 passed") == (0, GREEN)


def test_a_report_is_left_also_of_arms_that_failed(run: Run, pytester: pytest.Pytester) -> None:
    run("mtp:dies-loading=SIGILL")
    (judged,) = json.loads((pytester.path / "r.json").read_text())["judged"]
    (failure,) = judged["campaign"]["failures"]
    assert (failure["arm"], failure["stage"]) == ("mtp", "start")
    assert "SIGILL" in failure["message"]


@contextmanager
def memory_of(megabytes: int) -> Iterator[Path]:
    """A control group of so much memory, whose members the kernel ends when they take more."""
    group = _MEMORY / f"pytest-mtp-{os.getpid()}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(f"{megabytes * 2**20}")
    except OSError as error:
        with suppress(OSError):
            group.rmdir()
        pytest.skip(f"no memory control group (version 1) can be made here, which takes root: {error}")
    try:
        yield group
    finally:
        group.rmdir()


def test_a_server_that_the_kernel_ends_for_its_memory_is_named_so(run: Run, tmp_path: Path) -> None:
    with memory_of(100) as group:
        outer = tmp_path / "limited"
        inner = fake_server(tmp_path / "inner", "mtp:eats-memory@2").removeprefix("bin:")
        outer.write_text(f'#!/bin/sh\necho $$ > {group}/cgroup.procs\nexec {inner} "$@"\n')
        outer.chmod(0o755)
        done = run("honest", f"--mtp-source=bin:{outer}")
        said = "INVALID: *mtp server died of SIGKILL (another process killed it*out of memory"
        assert ended(done, said) == (17, OPEN)
        assert "oom_kill 1" in (group / "memory.oom_control").read_text()
