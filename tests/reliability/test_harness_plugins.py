"""Other plugins and pytest's own ways to run less: no verdict is lost, invented or measured twice."""

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reliability.harness_runs import Rig, laid_out

_ONE = ("-k", "speedup and n3-a")
# Slower than its floor: four times as fast is what the fake is.
_LOST = '--mtp-set=classes=[{ name = "a", prompt = "A", floor = 9.0 }, { name = "b", prompt = "B", floor = 9.0 }]'


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with laid_out(tmp_path / "rig") as rig:
        yield rig


def needs(module: str) -> pytest.MarkDecorator:
    missing = importlib.util.find_spec(module) is None
    return pytest.mark.skipif(missing, reason=f"{module} is not installed: pip install --group test")


@pytest.mark.parametrize("words", [("-n1",), ("-n4",), ("--tx=2*popen", "--dist=load")], ids=" ".join)
def test_workers_are_refused_before_anything_is_started(words: tuple[str, ...], rig: Rig) -> None:
    status, said = rig.run(*words)
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "cannot run in parallel: give -n0" in said
    assert "Traceback" not in said
    assert rig.starts() == []


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--collect-only",), pytest.ExitCode.OK),
        (("-k", "nothing"), pytest.ExitCode.NO_TESTS_COLLECTED),
        (("--fixtures",), pytest.ExitCode.OK),
        (("--setup-plan",), pytest.ExitCode.OK),
    ],
    ids=str,
)
def test_what_runs_no_test_measures_and_writes_nothing(words: tuple[str, ...], status: int, rig: Rig) -> None:
    assert rig.run(*words, "--mtp-json=r.json", "--mtp-history=history")[0] == status
    assert rig.starts() == []
    assert not (rig.work / "r.json").exists()
    assert not (rig.work / "history").exists()


def test_the_first_failure_ends_the_run_and_the_last_failed_are_measured_again(rig: Rig) -> None:
    status, said = rig.run("-x", "-k", "speedup", _LOST, "--mtp-json=r.json")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "1 failed" in said
    assert "REGRESSION" in said
    # The campaign was over when its first test failed: all of it is in the report.
    assert classes(rig) == ["a", "b"]
    status, said = rig.run("--lf", "-k", "speedup", _LOST, "--mtp-json=r.json")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "1 failed" in said
    assert classes(rig) == ["a"]


def classes(rig: Rig) -> list[str]:
    report = json.loads((rig.work / "r.json").read_text())
    return [result["prompt_class"] for judged in report["judged"] for result in judged["results"]]


@needs("pytest_rerunfailures")
def test_a_rerun_shows_the_verdict_again_and_measures_nothing(rig: Rig) -> None:
    status, said = rig.run(*_ONE, _LOST, "--reruns=2")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "1 failed" in said
    assert "2 rerun" in said
    # Both arms in two blocks, and in two more in which the loss is confirmed.
    assert len(rig.starts()) == 8


@needs("pytest_rerunfailures")
def test_a_rerun_does_not_turn_an_arm_that_does_not_start_green(rig: Rig) -> None:
    # Only the first lives of the servers are broken: measured anew, the run would pass.
    rig.faults(*["dies-loading"] * 3, "honest")
    status, said = rig.run(*_ONE, "--reruns=2")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "2 rerun" in said
    assert len(rig.starts()) == 3


@needs("pytest_timeout")
@pytest.mark.parametrize("method", ["signal", "thread"])
def test_a_test_that_is_timed_out_leaves_no_server_and_no_lock(method: str, rig: Rig) -> None:
    rig.faults("hangs")
    started = rig.start(*_ONE, "--timeout=6", f"--timeout-method={method}")
    assert started.ended() == pytest.ExitCode.TESTS_FAILED
    assert rig.starts(), "a server was up"
    assert "Timeout" in started.said
    rig.assert_nothing_is_left()


def test_without_autoload_the_plugin_is_named(rig: Rig) -> None:
    off = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    status, said = rig.run("-p", "pytest_mtp.plugin", *_ONE, "--mtp-json=r.json", **off)
    assert status == pytest.ExitCode.OK, said
    assert "1 passed" in said
    assert classes(rig) == ["a"]


def test_without_autoload_and_unnamed_its_options_are_unknown(rig: Rig) -> None:
    status, said = rig.run(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "unrecognized arguments" in said
