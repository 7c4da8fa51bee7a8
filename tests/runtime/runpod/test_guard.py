"""The guard inside a pod, run by a real shell with a real curl: it deletes the pod when its hours are over."""

import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from pytest_mtp.core.runpod.guard import start_command
from tests.fakes.runpod import FakePod, Reply, RunPod

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine")

PATIENCE_S = 30


def run_guard(peer: RunPod, pod: FakePod, tmp_path: Path, *, until: int, seconds: int) -> str:
    """Run the container's command to the guard's end; the words of every process meanwhile."""
    words = shlex.split(start_command(peer.url, until, seconds))
    assert words[:2] == ["bash", "-c"]
    spy = tmp_path / "curl"
    spy.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/words\nexec {shutil.which("curl")} "$@"\n')
    spy.chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "RUNPOD_POD_ID": pod.id,
        "RUNPOD_API_KEY": pod.own_key,
    }
    # The image's own start is not there, so that the guard alone is left, and its end is the end of the output.
    subprocess.run(words, env=environment, capture_output=True, timeout=PATIENCE_S, check=False)
    return (tmp_path / "words").read_text()


def test_the_pod_deletes_itself_with_its_own_key_which_is_no_word_of_a_command(peer: RunPod, tmp_path: Path) -> None:
    pod = peer.plant("mtp-run-1")
    words = run_guard(peer, pod, tmp_path, until=int(time.time()) + 1, seconds=7200)
    assert peer.pods == {}
    assert pod.own_key not in words


def test_a_time_that_is_past_deletes_at_once(peer: RunPod, tmp_path: Path) -> None:
    run_guard(peer, peer.plant("mtp-run-1"), tmp_path, until=0, seconds=7200)
    assert peer.pods == {}


def test_a_clock_that_is_far_behind_does_not_keep_the_pod(peer: RunPod, tmp_path: Path) -> None:
    run_guard(peer, peer.plant("mtp-run-1"), tmp_path, until=int(time.time()) + 10**8, seconds=0)
    assert peer.pods == {}


def test_a_refusal_is_followed_by_runpods_own_tool(peer: RunPod, tmp_path: Path) -> None:
    peer.replies["DELETE /v2/pods/*"] = [Reply(403)]
    tool = tmp_path / "runpodctl"
    tool.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/tool\n')
    tool.chmod(0o755)
    pod = peer.plant("mtp-run-1")
    run_guard(peer, pod, tmp_path, until=0, seconds=0)
    assert (tmp_path / "tool").read_text() == f"pod delete {pod.id}\n"
