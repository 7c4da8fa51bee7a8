"""A cell is a pytest of its own: text in, text out, and nothing of it outlives its time or its caller."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from pytest_mtp.core.fleet.cell import CellResult, State
from pytest_mtp.errors import InputError
from pytest_mtp.runtime.fleet import cell_run
from pytest_mtp.runtime.fleet.cell_run import cell_environment, command, ran, run_cell
from pytest_mtp.runtime.fleet.stored import load
from pytest_mtp.runtime.store import encoded
from tests.runtime.fleet.cells import cell_of, hangs, server_that

TELLER = "import sys; from pytest_mtp.runtime.fleet.cell_run import run_cell; print(run_cell(sys.argv[1]))"
# It waits for the file of a server that hangs, kills itself, and the test looks for what is left.
CALLER = "import sys; from pytest_mtp.runtime.fleet.cell_run import run_cell; run_cell(sys.argv[1])"


def gone(pid: int) -> bool:
    """Whether the process ended, once it had the time to."""
    try:
        psutil.Process(pid).wait(20)
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return False
    return True


def appeared(path: Path, beside: "subprocess.Popen[bytes]") -> int:
    """The pid in a file that is about to be written."""
    while not path.exists() or not path.read_text():
        assert beside.poll() is None
    return int(path.read_text())


def test_a_cell_that_cannot_be_measured_ends_with_1_and_says_why(tmp_path: Path) -> None:
    cell = cell_of("/bin/false")
    (tmp_path / "result.json").write_text(run_cell(encoded(cell).decode()))
    result = load(tmp_path / "result.json", CellResult, "")
    assert (result.cell, result.status, result.report, result.state) == (cell.id, 1, None, State.DONE)
    assert "/bin/false" in result.said
    assert "It wrote no report." in result.said
    assert result.started_at < result.ended_at
    assert result.started_at[19] == "."
    assert result.started_at.endswith("+00:00")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "[" * 100_000, '{"machine": "a"}', '{"machine": 1}'])
def test_what_is_no_cell_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no cell"):
        run_cell(text)


def test_a_cell_whose_id_is_of_another_is_refused() -> None:
    told = json.loads(encoded(cell_of("/bin/false")))
    with pytest.raises(InputError, match="is not what its id says"):
        run_cell(json.dumps(told | {"source": "bin:/bin/true"}))


def test_what_is_not_over_in_time_is_ended_and_no_loss(tmp_path: Path) -> None:
    up = tmp_path / "up"
    result = ran(cell_of(server_that(hangs(up), tmp_path / "server"), minutes=0.1))
    assert result.status == -signal.SIGTERM
    assert result.said.endswith("It was not over within 0.1 minutes and was ended.")
    assert not up.exists() or gone(int(up.read_text()))


def test_a_pytest_that_is_interrupted_is_lost_and_no_loss(tmp_path: Path) -> None:
    """As it is by a machine that is shut down, whose worker may live to send what came of it."""
    up = tmp_path / "up"
    cell = cell_of(server_that(hangs(up), tmp_path / "server"))
    with subprocess.Popen([sys.executable, "-c", TELLER, encoded(cell)], stdout=subprocess.PIPE) as caller:
        appeared(up, caller)
        (pytest_of_it,) = (one for one in psutil.Process(caller.pid).children() if "pytest" in one.cmdline())
        pytest_of_it.terminate()
        told, _ = caller.communicate()
    (tmp_path / "result.json").write_bytes(told)
    result = load(tmp_path / "result.json", CellResult, "")
    assert (result.state, result.status, result.report) == (State.LOST, 17, None)
    assert result.said.endswith("Its pytest was interrupted, as by a machine that is shut down.")


def test_a_suite_that_cannot_be_imported_is_an_error_and_no_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "test_speedup.py").write_text("import nothing_of_that_name")
    monkeypatch.setattr(cell_run, "suites", lambda: tmp_path)
    result = ran(cell_of("/bin/false"))
    assert (result.state, result.status) == (State.DONE, 1)
    assert "nothing_of_that_name" in result.said


def test_all_of_a_cell_ends_when_its_caller_is_killed(tmp_path: Path) -> None:
    up = tmp_path / "up"
    cell = cell_of(server_that(hangs(up), tmp_path / "server"))
    with subprocess.Popen([sys.executable, "-c", CALLER, encoded(cell)]) as caller:
        server = appeared(up, caller)
        (pytest_of_it,) = (one for one in psutil.Process(caller.pid).children() if "pytest" in one.cmdline())
        caller.kill()
    assert gone(server)
    assert gone(pytest_of_it.pid)


def test_a_cell_sees_no_key_but_that_of_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "HF_TOKEN",
        "AWS_SECRET_KEY",
        "GITHUB_TOKEN",
        "PYTEST_ADDOPTS",
        "LLAMA_ARG_CTX",
        "CUDA_VISIBLE_DEVICES",
    ):
        monkeypatch.setenv(name, "it")
    assert {name for name, value in cell_environment().items() if value == "it"} == {"HF_TOKEN", "CUDA_VISIBLE_DEVICES"}
    assert "PATH" in os.environ.keys() & cell_environment().keys()


def test_a_kind_other_than_cpu_is_measured_on_a_card(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    words = command(cell_of("/bin/false", kind="RTX 3090"), report, ("--mtp-gpu-id=GPU-1",))
    assert "--mtp-gpu" in words
    assert "--mtp" not in words
    assert words[-1] == "--mtp-gpu-id=GPU-1"
    assert "--mtp" in command(cell_of("/bin/false"), report)
