"""The whole gate on a real llama-server, with a small phantom: verdicts, exit status, and what is left behind."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import psutil
import pytest

from pytest_mtp.core.build_spec import Build
from tests.plugin.gates import without_further_suites
from tests.real.conftest import SMALL
from tests.waiting import until

_PATIENCE_S = 120.0
# Blocks of several seconds, so that a blow meets them in the middle.
_LONG_BLOCKS = tuple(f"--mtp-set={one}" for one in ("request.tokens=400", "measure.pairs=10", "gates.looks=[2]"))


def arguments(server: Path, *more: str) -> list[str]:
    return [*without_further_suites(), "--mtp", f"--mtp-profile={SMALL}", f"--mtp-source=bin:{server}", *more]


def wrapper(folder: Path, server: Path, condition: str) -> Path:
    """A llama-server that gives up with a message when ``condition`` holds, and is the real one else."""
    script = folder / "llama-server"
    script.write_text(
        f'#!/bin/sh\ncase "$*" in {condition}) echo "GGML_ASSERT(planted) failed" >&2; exit 3;; esac\n'
        f'exec {server} "$@"\n'
    )
    script.chmod(0o755)
    return script


def test_a_broken_head_is_red_and_an_unchanged_rerun_is_not(pytester: pytest.Pytester, real_build: Build) -> None:
    recorded = pytester.runpytest_subprocess(*arguments(real_build.server, "--mtp-update-baselines=new"))
    assert recorded.ret == pytest.ExitCode.OK
    (baseline,) = (pytester.path / "baselines").rglob("small.json")
    readings = re.findall(r'"memory_bandwidth": ([\d.]+)', baseline.read_text())
    assert len(readings) >= 2, "the machine's memory is read before every block"
    assert all(5e8 < float(one) < 1e13 for one in readings)

    again = pytester.runpytest_subprocess(*arguments(real_build.server, "-k", "speedup or acceptance"))
    assert again.ret in {0, 17}
    assert "failed" not in again.parseoutcomes()

    broken = pytester.runpytest_subprocess(
        *arguments(real_build.server, "--mtp-model=phantom:head=broken", "--junit-xml=junit.xml")
    )
    assert broken.ret == pytest.ExitCode.TESTS_FAILED
    broken.stdout.fnmatch_lines(["*REGRESSION: speedup*is below*baseline*tokens per step 1.00, were *plain arm*"])
    suite = next(ElementTree.parse(pytester.path / "junit.xml").iter("testsuite"))
    failed = {case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None}
    assert {"test_speedup[n3-right]", "test_speedup[n3-mixed]"} <= failed
    assert int(suite.get("failures", "0")) == len(failed)
    assert {"mtp_speedup", "mtp_tau"} <= {prop.get("name") for prop in suite.iter("property")}


@pytest.mark.parametrize(
    ("condition", "outcomes", "said"),
    [
        ("*--help*|*--version*) ;; *--spec-type*", {"failed": 4}, "*REGRESSION: the mtp arm failed in start*"),
        ("*--help*|*--version*) ;; *", {"errors": 8}, "*the plain arm failed in start*"),
    ],
)
def test_an_arm_that_does_not_start(
    condition: str, outcomes: dict[str, int], said: str, pytester: pytest.Pytester, real_build: Build
) -> None:
    server = wrapper(pytester.path, real_build.server, condition)
    result = pytester.runpytest_subprocess(*arguments(server))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    counted = result.parseoutcomes()
    assert {name: counted[name] for name in outcomes} == outcomes
    result.stdout.fnmatch_lines([said, "*GGML_ASSERT(planted)*"])


@contextlib.contextmanager
def running(folder: Path, server: Path, *more: str) -> Iterator[subprocess.Popen[str]]:
    """The gate in a process of its own, killed with all its children at the end."""
    command = [sys.executable, "-m", "pytest", *arguments(server, *more)]
    with (folder / "output").open("w") as output:
        process = subprocess.Popen(
            command, cwd=folder, stdout=output, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        try:
            yield process
        finally:
            for one in servers_of(process.pid):
                with contextlib.suppress(psutil.NoSuchProcess):
                    one.kill()
            process.kill()
            process.wait()


def servers_of(pid: int) -> list[psutil.Process]:
    try:
        return [one for one in psutil.Process(pid).children(recursive=True) if "llama-server" in one.name()]
    except psutil.NoSuchProcess:
        return []


def measuring_servers(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """The two servers of a block that is being measured, with some time on their clocks."""
    found: list[psutil.Process] = []

    def both_up() -> bool:
        found[:] = servers_of(process.pid)
        with contextlib.suppress(psutil.NoSuchProcess):
            return len(found) == 2 and all(one.cpu_times().user > 1.5 for one in found)
        return False

    until(both_up, "both servers measured")
    return found


def test_a_server_killed_in_mid_block_costs_that_block_only(pytester: pytest.Pytester, real_build: Build) -> None:
    with running(pytester.path, real_build.server, "--mtp-json=report.json", *_LONG_BLOCKS) as process:
        measuring_servers(process)[1].kill()
        process.wait(_PATIENCE_S)
    said = (pytester.path / "output").read_text()
    assert "2 blocks, 1 invalid" in said
    assert "server died of SIGKILL" in (pytester.path / "report.json").read_text()


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_when_pytest_ends_in_mid_campaign(
    blow: signal.Signals, pytester: pytest.Pytester, real_build: Build
) -> None:
    with running(pytester.path, real_build.server, *_LONG_BLOCKS) as process:
        servers = measuring_servers(process)
        os.kill(process.pid, blow)
        process.wait(_PATIENCE_S)
        until(
            lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in servers),
            "the servers ended",
        )
        status = process.returncode
    if blow is signal.SIGINT:
        assert status == pytest.ExitCode.INTERRUPTED
        assert "interrupted after" in (pytester.path / "output").read_text()
    # The lock of the device is free again: another run measures at once.
    after = pytester.runpytest_subprocess(*arguments(real_build.server, "-k", "throughput"))
    after.stdout.no_fnmatch_line("*another run measures*")
    assert after.ret == 0
