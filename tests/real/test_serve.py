"""``pytest-mtp serve`` with a real llama-server: a person's way in, and the way out."""

import contextlib
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from pytest_mtp.core.build_spec import Build
from pytest_mtp.core.model import parse_model
from pytest_mtp.core.request import Request
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.runtime.client import Client
from pytest_mtp.runtime.models import phantom_spec
from pytest_mtp.runtime.profiles import load_profile
from pytest_mtp.runtime.store import load_report
from tests.plugin.gates import without_further_suites
from tests.real.conftest import SMALL

_PATIENCE_S = 120.0


@contextlib.contextmanager
def running(command: Sequence[str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process whose output is read line by line; killed after a while, so that no read waits for ever."""
    with (folder / "errors").open("w") as errors:
        process = subprocess.Popen(list(command), cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True)
    timer = threading.Timer(_PATIENCE_S, process.kill)
    timer.start()
    try:
        yield process
    finally:
        timer.cancel()
        process.kill()
        process.communicate()


def serve(build: Build, *more: str) -> list[str]:
    words = ("serve", "--profile", str(SMALL), "--source", f"bin:{build.server}", "--no-ui", "--port", "0", *more)
    return [sys.executable, "-m", "pytest_mtp.cli", *words]


def announced(process: subprocess.Popen[str]) -> list[str]:
    """The lines about a server that is ready."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line.rstrip("\n"))
        if line.startswith("Ctrl-C"):
            return lines
    pytest.fail(f"it ended without a server: {lines}")


def url_of(lines: list[str]) -> str:
    return next(word for line in lines for word in line.split() if word.startswith("http://"))


def await_health(client: Client, process: subprocess.Popen[str]) -> None:
    while not client.health():
        assert process.poll() is None


def drafted(url: str) -> int:
    with Client(url) as client:
        assert client.health()
        return client.complete(Request(prompt="<|right|>", n_predict=24)).timings.draft_n or 0


@pytest.mark.parametrize(("arm", "drafts"), [("mtp", True), ("plain", False)])
def test_a_person_is_served_until_ctrl_c(arm: str, drafts: bool, real_build: Build, tmp_path: Path) -> None:  # noqa: FBT001 - a parameter of the test
    with running(serve(real_build, "--arm", arm), tmp_path) as process:
        url = url_of(announced(process))
        server = psutil.Process(process.pid).children()[0]
        assert (drafted(url) > 0) is drafts
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0
        assert not server.is_running()


def test_the_plain_command_line_runs_as_printed(real_build: Build, tmp_path: Path) -> None:
    with running(serve(real_build), tmp_path) as process:
        lines = announced(process)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0
    plain, url = lines[lines.index("The same without pytest-mtp:") + 1], url_of(lines)
    # The port is free again, so that not a letter of the line needs to be changed.
    with running(["sh", "-c", f"exec {plain}"], tmp_path) as process, Client(url) as client:
        await_health(client, process)
        assert drafted(url) > 0
        client.close()
        process.terminate()
        assert process.wait() == 0


def test_a_page_that_was_made_is_shown_by_the_gates_own_build(real_build: Build, tmp_path: Path) -> None:
    page = tmp_path / "dist"
    page.mkdir()
    (page / "index.html").write_text("<p>made</p>")
    extra = f'server.extra=["--path", "{page}"]'
    with running(serve(real_build, "--set", extra), tmp_path) as process:
        said = announced(process)
    assert any(line.startswith("Web page: http://127.0.0.1:") for line in said)


def test_servers_that_run_already_are_measured_and_left_running(
    real_build: Build, pytester: pytest.Pytester, tmp_path: Path
) -> None:
    with contextlib.ExitStack() as stack:
        urls = {}
        for arm in ("plain", "mtp"):
            (tmp_path / arm).mkdir()
            process = stack.enter_context(running(serve(real_build, "--arm", arm), tmp_path / arm))
            urls[arm] = url_of(announced(process))
        endpoints = (f"--mtp-endpoint={arm}={url}" for arm, url in urls.items())
        wishes = ("--mtp", f"--mtp-profile={SMALL}", "--mtp-set=gates.looks=[2]", "--mtp-json=run.json")
        told = pytester.runpytest_subprocess(*without_further_suites(), *wishes, *endpoints, "-k", "acceptance")
        assert told.ret == 0
        assert drafted(urls["mtp"]) > 0
    report = load_report(pytester.path / "run.json")
    (judged,) = report.judged
    small = load_profile(str(SMALL))
    phantom = phantom_spec(parse_model("phantom"), small.model.phantom)
    for one in judged.results:
        assert one.acceptance is not None
        assert one.acceptance.tau == phantom.expected(one.prompt_class, small.request.tokens, 3).tau
    start = judged.campaign.valid[0].start(Arm.MTP)
    assert start.command.startswith(f"attached to {urls['mtp']} (llama-server b")
    assert report.machine == {"endpoint": urls["mtp"].removeprefix("http://")}
