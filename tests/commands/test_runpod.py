"""The command that rents a card: what it asks first, what it gives back, and that no pod is left whatever ends it.

The account is a peer on loopback that checks every request; the pod is a real sshd with a real shell.
"""

import io
import json
import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from pytest_mtp import cli
from pytest_mtp.runtime.port import available_port
from tests.fakes.rented import HF_TOKEN, Machine, serve_machine
from tests.fakes.runpod import KEY, Reply, RunPod, gpu, serve_runpod

PATIENCE_S = 60.0
SPEND = ("--limit", "2", "--yes")
_DRIVER = """
import sys
from dataclasses import replace
from pytest_mtp import cli
from pytest_mtp.commands import runpod
from pytest_mtp.runtime.runpod import api
api.BASE, runpod.FOLDER, runpod.ENVIRON, *words = sys.argv[1:]
api.PACE = replace(api.PACE, waits_s=(0.0, 0.0), poll_s=0.02)
sys.exit(cli.main(["runpod", *words]))
"""

Started = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def peer() -> Iterator[RunPod]:
    """An account without pods."""
    with serve_runpod() as served:
        yield served


@pytest.fixture
def machine(peer: RunPod, tmp_path: Path) -> Iterator[Machine]:
    """A real sshd behind every pod of the peer."""
    with serve_machine(peer, tmp_path / "machine") as served:
        yield served


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, and the account's key where it belongs; the folder of records."""
    monkeypatch.setenv("RUNPOD_API_KEY", KEY)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "state" / "pytest-mtp" / "runpod"


@pytest.fixture
def start(peer: RunPod, environment: Path, tmp_path: Path) -> Iterator[Started]:
    """Start the command as a process of its own; killed in the end, so that no read waits for ever."""
    started: list[tuple[subprocess.Popen[str], threading.Timer]] = []
    assert environment

    def begin(*words: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
        places = (str(tmp_path / "machine" / "mtp"), str(tmp_path / "machine" / "environ"))
        process = subprocess.Popen(
            [sys.executable, "-c", _DRIVER, peer.url, *places, *words],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        timer = threading.Timer(PATIENCE_S, process.kill)
        timer.start()
        started.append((process, timer))
        return process

    yield begin
    for process, timer in started:
        timer.cancel()
        process.kill()
        with process:  # which closes what is open, and reaps it
            pass


def done(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Its status and all that it said."""
    said, _ = process.communicate()
    return process.returncode, said


def suite(tmp_path: Path, text: str) -> str:
    """A file of tests for the pod's pytest."""
    path = tmp_path / "test_there.py"
    path.write_text(text)
    return str(path)


def await_line(process: subprocess.Popen[str], text: str) -> str:
    """What it says up to a line with this text."""
    assert process.stdout is not None
    said = ""
    while line := process.stdout.readline():
        said += line
        if text in line:
            return said
    pytest.fail(f"it ended without {text!r}: {said}")


def test_run_says_the_cost_measures_fetches_the_results_and_deletes(
    peer: RunPod, machine: Machine, start: Started, environment: Path, tmp_path: Path
) -> None:
    file = suite(tmp_path, "def test_it():\n    print('measured')\n")
    status, said = done(start("run", *SPEND, "--out", str(tmp_path / "out"), "--", "-s", file))
    assert status == 0, said
    assert "1. NVIDIA GeForce RTX 3090, secure cloud: 0.460 USD/h x 2 h = 0.92 USD" in said
    assert "At most 0.96 USD, of a limit of 2.00 USD." in said
    assert "measured" in said
    assert "Spent by the list price: less than 0.01 USD." in said
    assert (tmp_path / "out" / "junit.xml").is_file()
    assert peer.pods == {}
    assert list(environment.iterdir()) == []
    assert said.index("At most") < said.index("Rented pod")
    assert not machine.folder.joinpath("results", "no").exists()


def test_the_status_is_that_of_pytest_in_the_pod(
    peer: RunPod, machine: Machine, start: Started, tmp_path: Path
) -> None:
    assert machine.sshd.door
    file = suite(tmp_path, "import pytest\ndef test_it():\n    pytest.exit('no answer', returncode=17)\n")
    assert done(start("run", *SPEND, "--", file))[0] == 17
    assert peer.pods == {}


@pytest.mark.parametrize("failing", ["uv", "apt-get"])
def test_a_pod_that_cannot_be_set_up_is_no_red_run(
    peer: RunPod, machine: Machine, start: Started, failing: str
) -> None:
    machine.sshd.program(failing, "echo no network; exit 1")
    status, said = done(start("run", *SPEND))
    assert status == 2
    assert "no network" in said
    assert "The pod could not be set up" in said
    assert peer.pods == {}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_whoever_ends_it_politely_leaves_no_pod(
    peer: RunPod, machine: Machine, start: Started, environment: Path, tmp_path: Path, number: signal.Signals
) -> None:
    assert machine.sshd.door
    file = suite(tmp_path, "import time\ndef test_it():\n    print('it is there')\n    time.sleep(600)\n")
    process = start("run", *SPEND, "--", "-s", file)
    await_line(process, "it is there")
    process.send_signal(number)
    status, said = done(process)
    assert status == 130, said
    assert peer.pods == {}
    assert list(environment.iterdir()) == []
    machine.end_job()


@pytest.mark.parametrize("word", ["sweep", "down", "run"])
def test_the_pod_of_a_killed_controller_is_deleted_by_its_next_call(
    peer: RunPod, machine: Machine, start: Started, environment: Path, tmp_path: Path, word: str
) -> None:
    file = suite(tmp_path, "import time\ndef test_it():\n    print('it is there')\n    time.sleep(600)\n")
    process = start("run", *SPEND, "--", "-s", file)
    await_line(process, "it is there")
    process.kill()
    process.wait()
    assert len(peer.pods) == 1
    (before,) = peer.pods
    machine.end_job()
    empty = suite(tmp_path, "def test_it():\n    pass\n")
    status, said = done(start(word, *((*SPEND, "--", empty) if word == "run" else ())))
    assert status == 0, said
    assert f"Deleted pod {before}" in said
    assert peer.pods == {}
    assert list(environment.iterdir()) == []


def test_a_controller_killed_within_its_request_is_found_by_name(
    peer: RunPod, start: Started, environment: Path
) -> None:
    process = start("run", *SPEND)
    killed = threading.Event()

    def kill(_: object) -> None:
        process.kill()
        process.wait()
        killed.set()

    peer.on_create = kill
    assert killed.wait(PATIENCE_S)
    with peer.lock:
        (pod,) = peer.pods.values()
    assert json.loads((environment / pod.body["name"] / "pod.json").read_text())["ids"] == []
    assert done(start("sweep"))[0] == 0
    assert peer.pods == {}


def test_a_pod_that_dies_while_it_measures_is_no_answer(
    peer: RunPod, machine: Machine, start: Started, tmp_path: Path
) -> None:
    file = suite(tmp_path, "import time\ndef test_it():\n    print('it is there')\n    time.sleep(600)\n")
    process = start("run", *SPEND, "--", "-s", file)
    await_line(process, "it is there")
    with peer.lock:
        (pod,) = peer.pods.values()
        pod.statuses[:] = ["EXITED"]
    machine.sshd.authorized.write_text("")
    status, said = done(process)
    assert status == 17
    assert "ended while it was used (it is EXITED). Nothing is known of the speed" in said
    assert peer.pods == {}
    machine.end_job()


@pytest.mark.parametrize(
    ("planned", "said"),
    [
        ([Reply(401)], "RUNPOD_API_KEY"),
        ([Reply(402)], "Add credit"),
        ([Reply(429, {"Retry-After": "999"})], "too many requests"),
        ([Reply(500)] * 9, "RunPod failed"),
        ([Reply(201, done=True, cut=True)], "no whole answer came"),
        ([Reply(400, detail="no instances")] * 2, "no instances"),
    ],
)
def test_no_pod_is_left_where_none_can_be_had(peer: RunPod, start: Started, planned: list[Reply], said: str) -> None:
    peer.replies["POST /v2/pods"] = planned
    status, words = done(start("run", *SPEND, "--gpu", "RTX 3090", "--gpu", "RTX 4090"))
    assert (status, said in words) == (2, True), words
    assert peer.pods == {}
    assert KEY not in words


def test_a_pod_that_cannot_be_deleted_is_said_with_the_command_that_then_works(
    peer: RunPod, machine: Machine, start: Started, tmp_path: Path
) -> None:
    assert machine.sshd.door
    peer.replies["DELETE /v2/pods/*"] = [Reply(500)] * 3
    status, said = done(start("run", *SPEND, "--", suite(tmp_path, "def test_it(): pass\n")))
    assert status == 2
    (pod,) = peer.pods.values()
    assert f"POD {pod.id} ({pod.body['name']}) MAY STILL RUN AND COST MONEY" in said
    assert f"pytest-mtp runpod down {pod.body['name']}" in said
    status, said = done(start("down", pod.body["name"]))
    assert (status, peer.pods) == (0, {}), said


def test_the_token_and_the_key_are_in_no_word_no_file_and_no_request(
    peer: RunPod, machine: Machine, start: Started, environment: Path, tmp_path: Path
) -> None:
    told = "import os\ndef test_it():\n    print('token', os.environ['HF_TOKEN'] == open({!r}).read())\n"
    (tmp_path / "expected").write_text(HF_TOKEN)
    file = suite(tmp_path, told.format(str(tmp_path / "expected")))
    process = start("up", *SPEND, "--hf-secret", "hub")
    status, said = done(process)
    assert status == 0, said
    kept = "".join(one.read_text() for one in environment.rglob("*") if one.is_file())
    status, more = done(start("run", *SPEND, "--hf-secret", "hub", "--", "-s", file))
    assert "token True" in more, more
    (tmp_path / "expected").unlink()
    machine.environ.unlink()
    everything = kept + said + more + json.dumps(peer.bodies)
    everything += "".join(one.read_text() for one in tmp_path.rglob("*") if one.is_file() and "uv" in one.name)
    assert KEY not in everything
    assert HF_TOKEN not in everything
    assert {body["env"]["HF_TOKEN"] for body in peer.bodies} == {"{{ RUNPOD_SECRET_hub }}"}
    assert done(start("down"))[0] == 0
    assert peer.pods == {}


def test_up_keeps_a_pod_that_is_set_up_and_down_deletes_it(
    peer: RunPod, machine: Machine, start: Started, environment: Path
) -> None:
    status, said = done(start("up", *SPEND))
    assert status == 0, said
    (pod,) = peer.pods.values()
    name = pod.body["name"]
    assert f"Pod {name} is yours for 2 h" in said
    line = next(one.split("enter:")[1].strip() for one in said.splitlines() if "enter:" in one)
    entered = subprocess.run(
        [*line.split(), "-o", "StrictHostKeyChecking=no", "echo inside"], capture_output=True, check=True
    )
    assert entered.stdout == b"inside\n"
    assert (machine.folder / "venv").is_dir()
    status, said = done(start("down"))
    assert (status, peer.pods) == (0, {}), said
    assert list(environment.iterdir()) == []


def test_a_pod_that_up_cannot_set_up_is_deleted(peer: RunPod, machine: Machine, start: Started) -> None:
    machine.sshd.program("uv", "exit 1")
    status, said = done(start("up", *SPEND))
    assert (status, peer.pods) == (2, {}), said


_SERVER = """
import http.server, sys
class Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"page")
host, port = (sys.argv[sys.argv.index(word) + 1] for word in ("--host", "--port"))
print(*sys.argv[1:], flush=True)
http.server.HTTPServer((host, int(port)), Ready).serve_forever()
"""


@contextmanager
def served_by(machine: Machine) -> Iterator[None]:
    """Let the pod's pytest-mtp be a small server that listens where it is told to."""
    package = machine.folder / "work" / "pytest_mtp"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "cli.py").write_text(_SERVER)
    yield


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_web_serves_on_the_pods_loopback_through_a_tunnel_until_ctrl_c(
    peer: RunPod, machine: Machine, start: Started, number: signal.Signals, tmp_path: Path
) -> None:
    # The pod is this machine here, so that one of the two has to have another port.
    port = available_port("127.0.0.1", 0)
    with served_by(machine):
        process = start("up", *SPEND, "--web", "--port", str(port), "--", "--profile", "phantom", "--host", "0.0.0.0")
        said = await_line(process, "Through the tunnel")
        assert f"http://127.0.0.1:{port}/" in said
        assert "serve --profile phantom --host 0.0.0.0 --host 127.0.0.1 --port 8910" in said
        assert httpx.get(f"http://127.0.0.1:{port}/", trust_env=False).text == "page"
        process.send_signal(number)
        assert done(process)[0] == 0
    assert peer.pods == {}
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{port}/", trust_env=False)
    machine.end_job()
    assert tmp_path


def test_a_server_that_ends_in_the_pod_ends_web(peer: RunPod, machine: Machine, start: Started) -> None:
    with served_by(machine):
        (machine.folder / "work" / "pytest_mtp" / "cli.py").write_text("raise SystemExit('no model')")
        status, said = done(start("up", *SPEND, "--web", "--port", str(available_port("127.0.0.1", 0))))
    assert (status, peer.pods) == (2, {}), said
    assert "no model" in said
    assert "The server in the pod ended (status 1)" in said


def test_a_sweep_deletes_old_pods_of_ours_and_no_others(peer: RunPod, start: Started) -> None:
    old, other = peer.plant("mtp-run-old", hours=13), peer.plant("mine", hours=99)
    young = peer.plant("mtp-run-young", hours=1)
    assert old.id in done(start("sweep", "--dry-run"))[1]
    assert len(peer.pods) == 3
    assert done(start("sweep"))[0] == 0
    assert sorted(peer.pods) == sorted([young.id, other.id])
    assert done(start("sweep", "--older-than", "0.5"))[0] == 0
    assert list(peer.pods) == [other.id]


@pytest.fixture
def main(peer: RunPod, environment: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Run the command in this process, for what it refuses before it rents."""
    assert environment
    monkeypatch.setattr("pytest_mtp.runtime.runpod.api.BASE", peer.url)
    return lambda *words: cli.main(["runpod", *words])


def test_a_limit_must_be_given(main: Callable[..., int], peer: RunPod, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main("run", "--yes")
    assert "--limit" in capsys.readouterr().err
    assert peer.asked == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--limit", "0", "--yes"), "--limit 0 is no amount"),
        (("--limit", "nan", "--yes"), "--limit nan is no amount"),
        (("--limit", "2", "--hours", "13", "--yes"), "--hours 13 is none of"),
        (("--limit", "0.5", "--yes"), "--hours 1.04 would fit"),
        (("--limit", "2"), "add --yes"),
        (("--limit", "2", "--yes", "--gpu", "RTX 3080"), "RunPod's catalog has no card 'RTX 3080'"),
        (("--limit", "2", "--yes", "--hf-secret", "hf_abcdefghijklmnopqrstuvwxyz"), "what looks like a token"),
        (("--limit", "2", "--yes", "--hf-secret", "a b"), "the name of a RunPod secret"),
        (("--limit", "2", "--yes", "--volume-gb", "1"), "--volume-gb of at least 10"),
    ],
)
def test_nothing_is_asked_for_where_the_wish_cannot_be(
    main: Callable[..., int],
    peer: RunPod,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert main("run", *words) == 2
    assert said in capsys.readouterr().err
    assert "POST /v2/pods" not in peer.asked


def test_without_a_key_nothing_is_asked(
    main: Callable[..., int], peer: RunPod, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RUNPOD_API_KEY")
    assert main("run", *SPEND) == 2
    assert "Set RUNPOD_API_KEY" in capsys.readouterr().err
    assert peer.asked == []


@pytest.mark.parametrize("lacking", ["ssh", "rsync"])
def test_without_a_program_nothing_is_asked(
    main: Callable[..., int],
    peer: RunPod,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    lacking: str,
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None if name == lacking else f"/usr/bin/{name}")
    assert main("run", *SPEND) == 2
    assert f"This machine has no {lacking};" in capsys.readouterr().err
    assert peer.asked == []


def test_a_kind_without_free_cards_is_passed_over_and_none_at_all_is_said(
    main: Callable[..., int], peer: RunPod, capsys: pytest.CaptureFixture[str]
) -> None:
    peer.gpus = [gpu("NVIDIA GeForce RTX 3090", 0.46, 0.22, "NONE"), gpu("NVIDIA GeForce RTX 4090", 0, 0.34)]
    assert main("run", *SPEND, "--gpu", "RTX 3090", "--gpu", "RTX 4090") == 2
    said = capsys.readouterr()
    assert "of NVIDIA GeForce RTX 3090 none is free; NVIDIA GeForce RTX 4090 has no price in the secure" in said.err
    assert "POST /v2/pods" not in peer.asked


def test_down_takes_no_pod_that_is_not_ours(
    main: Callable[..., int], peer: RunPod, capsys: pytest.CaptureFixture[str]
) -> None:
    peer.plant("training")
    assert main("down", "training") == 2
    assert "is no pod of ours" in capsys.readouterr().err
    assert len(peer.pods) == 1


@pytest.mark.parametrize(("answer", "asked"), [("n\n", False), ("\n", False), ("y\n", True)])
def test_a_person_at_a_terminal_is_asked(peer: RunPod, start: Started, answer: str, *, asked: bool) -> None:
    peer.replies["POST /v2/pods"] = [Reply(402)]
    ours, theirs = pty.openpty()
    try:
        process = start("run", "--limit", "2", stdin=theirs)
        os.write(ours, answer.encode())
        status, said = done(process)
    finally:
        os.close(ours)
        os.close(theirs)
    assert status == 2
    assert "Rent it? [y/N]" in said
    assert ("POST /v2/pods" in peer.asked) is asked
