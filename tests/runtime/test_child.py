"""What children see, and that they end with us."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_mtp.runtime.child import child_environment, ending, run_logged, run_text

PYTHON = sys.executable

# Its grandchild keeps the output open until it ends, so whoever reads to the end knows that both are gone.
PARENT = """
import subprocess, sys, time
from pytest_mtp.runtime.child import die_with_parent

child = "import time; print('up', flush=True); time.sleep(20); print('survived', flush=True)"
subprocess.run([sys.executable, "-c", child], preexec_fn=die_with_parent)
"""

SLOW = "import time; print('up', flush=True); time.sleep(20); open('survived', 'w')"


def test_a_child_sees_only_what_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GGML_X", "A_TOKEN", "LLAMA_ARG_X"):
        monkeypatch.setenv(name, "1")
    seen = child_environment(["PATH", "GGML_*"], {"LC_ALL": "C"})
    code = "import os; print(sorted(set(os.environ) & {'GGML_X', 'A_TOKEN', 'LLAMA_ARG_X', 'LC_ALL'}))"
    assert run_text([PYTHON, "-c", code], seen).stdout == "['GGML_X', 'LC_ALL']\n"


def test_a_child_dies_when_its_parent_is_killed() -> None:
    with subprocess.Popen([PYTHON, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "up\n"
        parent.kill()
        assert parent.stdout.read() == ""


def test_output_goes_to_the_log_and_to_the_listener(tmp_path: Path) -> None:
    heard: list[str] = []
    code = "import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(3)"
    returncode = run_logged([PYTHON, "-c", code], os.environ, tmp_path, tmp_path / "log", heard.append)
    assert (returncode, heard, (tmp_path / "log").read_text()) == (3, ["out", "err"], "out\nerr\n")


def test_an_interrupt_ends_the_child(tmp_path: Path) -> None:
    def interrupt(_line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_logged([PYTHON, "-c", SLOW], os.environ, tmp_path, tmp_path / "log", interrupt)
    assert not (tmp_path / "survived").exists()


def test_an_interrupt_after_the_child_ended_is_still_an_interrupt(tmp_path: Path) -> None:
    def interrupt(line: str) -> None:
        os.waitpid(int(line), 0)
        raise KeyboardInterrupt

    code = "import os; print(os.getpid(), flush=True)"
    with pytest.raises(KeyboardInterrupt):
        run_logged([PYTHON, "-c", code], os.environ, tmp_path, tmp_path / "log", interrupt)


def test_a_child_past_its_time_is_ended(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run_text([PYTHON, "-c", SLOW], os.environ, tmp_path, timeout_s=0.5)
    assert not (tmp_path / "survived").exists()


def test_an_ending_names_the_signal() -> None:
    killed = run_text([PYTHON, "-c", "import os; os.abort()"], os.environ)
    assert [ending(killed.returncode), ending(2)] == ["was ended by SIGABRT", "ended with status 2"]
