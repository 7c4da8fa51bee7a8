"""``pytest-mtp doctor`` on the machine that the tests run on, and on one without tools."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.core.test_slow_plain import measured
from tests.real.conftest import SMALL


def doctor(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest_mtp.cli", "doctor", *words],
        env={**os.environ, "COLUMNS": "80", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_embedded_profile_runs_here_and_the_page_says_how(tmp_path: Path) -> None:
    done = doctor("--profile", str(SMALL), "--cache-dir", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"pytest --mtp --mtp-profile={SMALL} --mtp-cache-dir={tmp_path}" in done.stdout.replace("\n", " ")
    assert re.search(r"ok    model     phantom, [\d.]+ MB, to be written", done.stdout)
    assert not list(tmp_path.iterdir())  # it looks, and makes nothing


def test_a_machine_without_cmake_is_told_what_to_install(tmp_path: Path) -> None:
    only_python = tmp_path / "bin" / "python"
    only_python.parent.mkdir()
    only_python.symlink_to(sys.executable)
    done = subprocess.run(
        [str(only_python), "-m", "pytest_mtp.cli", "doctor", "--profile", str(SMALL), "--cache-dir", str(tmp_path)],
        env={"PATH": str(only_python.parent), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "LACKS tools" in done.stdout
    assert "pip install 'pytest-mtp[build]'" in " ".join(done.stdout.split())


def test_a_token_is_told_by_its_presence_alone(tmp_path: Path) -> None:
    token = "hf_of_the_test_and_of_nobody"
    done = doctor(
        *("--profile", "qwen3.5-0.8b-cpu", "--cache-dir", str(tmp_path)),
        HF_TOKEN=token,
        HF_ENDPOINT="http://127.0.0.1:9",
        HF_HOME=str(tmp_path),
    )
    assert "hub       a token is there" in done.stdout
    assert token not in done.stdout + done.stderr
    assert done.returncode == 1  # the model is neither here nor to be had


def test_a_source_and_a_cache_that_cannot_be_used_are_lacks(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    words = ("--profile", str(SMALL), "--source", f"dir:{tmp_path}", "--cache-dir", str(tmp_path / "file"))
    done = doctor(*words)
    said = " ".join(done.stdout.split())
    assert done.returncode == 1, done.stderr
    assert f"LACKS source {tmp_path} holds no CMakeLists.txt" in said
    assert f"LACKS cache {tmp_path}/file cannot be used" in said


def test_a_profile_for_a_card_lacks_one_here(tmp_path: Path) -> None:
    done = doctor("--profile", "phantom-gpu", "--cache-dir", str(tmp_path), LD_LIBRARY_PATH=str(tmp_path))
    assert done.returncode == 1
    assert "No usable NVIDIA GPU" in done.stdout


def test_a_report_explains_its_plain_arm(tmp_path: Path) -> None:
    from pytest_mtp.core.profile import Gate
    from pytest_mtp.core.run_report import REPORT_VERSION, Judged, RunReport
    from pytest_mtp.runtime.store import write_json

    now = measured({"offloaded": (40, 65)})
    report = RunReport(
        version=REPORT_VERSION,
        created_at=now.started_at,
        tool="pytest-mtp",
        profile="p",
        machine={},
        judged=(Judged(campaign=now, gate=Gate()),),
    )
    write_json(tmp_path / "report.json", report)
    done = doctor("--report", str(tmp_path / "report.json"))
    assert done.returncode == 1, done.stderr
    assert "LACKS layers    25 of 65 layers are computed by the CPU" in done.stdout


@pytest.mark.parametrize("words", [("--report", "none.json"), ("--profile", "phantm")])
def test_bad_input_is_one_sentence(words: tuple[str, str]) -> None:
    done = doctor(*words)
    assert done.returncode == 2
    assert done.stderr.startswith("pytest-mtp: ")
    assert "Traceback" not in done.stderr
