"""--mtp-isolate: what a stranger's build and server try, by a real program inside a real bubblewrap."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

import tests.plugin.conftest  # noqa: F401 - loads what runs inside this process share
from pytest_mtp.core.build_spec import Backend, Build, BuildSpec
from pytest_mtp.core.server_spec import ServerSpec
from pytest_mtp.core.source import Source, SourceKind, parse_source
from pytest_mtp.errors import BuildError, ServerDied, SettingsError
from pytest_mtp.runtime.build import build
from pytest_mtp.runtime.cache import Cache, default_root
from pytest_mtp.runtime.door import HOST, Door
from pytest_mtp.runtime.probe import probe
from pytest_mtp.runtime.sandbox import Opening, Sandbox, confined, find_sandbox
from pytest_mtp.runtime.server import serve
from pytest_mtp.runtime.sources import fetch_source
from tests.fakes.git_server import git
from tests.real.test_gate import arguments
from tests.waiting import until

_NOSY = Path(__file__).parents[1] / "fakes" / "nosy.cpp"
_CANARY = "canary-of-the-harness-1f2e3d"
_CMAKE = """
cmake_minimum_required(VERSION 3.18)
project(nosy CXX)
execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${CMAKE_SOURCE_DIR}/main.cpp -o ${CMAKE_BINARY_DIR}/nosy)
execute_process(COMMAND ${CMAKE_BINARY_DIR}/nosy OUTPUT_VARIABLE said)
message("${said}")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
add_executable(llama-server main.cpp)
"""
ATTEMPTS = {
    "home", "home-by-variable", "passwd", "source", "loopback", "socket", "abstract-socket", "harness",
    "environment", "kernel",
}  # fmt: skip
SPEC = ServerSpec(model="/nowhere.gguf", ctx=512, gpu_layers=0, host=HOST)


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    """The sandbox of this machine; skips where it has none."""
    try:
        return find_sandbox(Backend.CPU)
    except SettingsError as error:
        pytest.skip(str(error))


@pytest.fixture
def daemon() -> Iterator[str]:
    """How long the daemon of the nosy program sleeps, by which it is known; it ends with the test."""
    word = f"600.{os.getpid()}"
    yield word
    for one in _sleeping(word):
        one.kill()


@pytest.fixture
def nosy(tmp_path: Path, daemon: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Source]:
    """A CMake tree whose build and whose server try everything, against things that are there."""
    home, source = tmp_path / "home", tmp_path / "src"
    home.mkdir()
    source.mkdir()
    (home / "secret").write_text("secret")
    monkeypatch.setenv("HOME", str(home))
    with ExitStack() as stack:
        inet = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        for name in (str(tmp_path / "s"), f"\0nosy-{os.getpid()}"):
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(name)
            listener.listen()
        # Another process than this one has it from its start, as the harness of a user has.
        stack.enter_context(_with_canary())
        targets = {
            "HOME_SECRET": str(home / "secret"), "OUTSIDE": str(tmp_path / "outside"), "SOURCE": str(source),
            "SOCKET": str(tmp_path / "s"), "ABSTRACT": f"nosy-{os.getpid()}", "CANARY": _CANARY, "DAEMON": daemon,
        }  # fmt: skip
        lines = [f'#define {name} "{value}"' for name, value in targets.items()]
        lines += [f"#define PORT {inet.getsockname()[1]}", f"#define HARNESS {os.getpid()}"]
        (source / "targets.h").write_text("\n".join(lines) + "\n")
        (source / "main.cpp").write_text(_NOSY.read_text())
        (source / "CMakeLists.txt").write_text(_CMAKE)
        yield Source(kind=SourceKind.DIR, path=source, identity="dir-nosy", label="nosy")


class _with_canary(ExitStack):
    def __enter__(self) -> "_with_canary":
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, env=os.environ | {"CANARY": _CANARY})
        assert child.stdin is not None
        self.enter_context(child)
        self.callback(child.stdin.close)
        return self


def _sleeping(word: str) -> list[psutil.Process]:
    found = []
    for one in psutil.process_iter():
        with suppress(psutil.Error):
            if one.cmdline() == ["sleep", word] and one.status() != psutil.STATUS_ZOMBIE:
                found.append(one)
    return found


def _attempts(text: str) -> Mapping[str, str]:
    found = dict(re.findall(r"attempt ([a-z-]+): (\w+)", text))
    # Inside, the folder of that name is another one: whether the file is there is looked up outside.
    found.pop("outside")
    return found


def _built(source: Source, cache: Path, sandbox: Sandbox | None) -> Build:
    return build(BuildSpec(backend=Backend.CPU), source, Cache(cache), sandbox=sandbox)


def test_a_build_and_a_server_of_strangers_reach_nothing(
    nosy: Source, daemon: str, sandbox: Sandbox, tmp_path: Path
) -> None:
    made = _built(nosy, tmp_path / "cache", sandbox)
    assert made.log is not None
    assert _attempts(made.log.read_text()) == dict.fromkeys(ATTEMPTS, "refused")
    until(lambda: not _sleeping(daemon), "the daemon ended")

    with (
        pytest.raises(ServerDied, match="ended with exit status 7 before it was ready") as caught,
        serve(made.server, (), SPEC, tmp_path / "server", start_timeout_s=60, sandbox=sandbox),
    ):
        pass
    assert _attempts(caught.value.log_tail) == dict.fromkeys(ATTEMPTS, "refused")
    until(lambda: not _sleeping(daemon), "the daemon ended")
    assert not (tmp_path / "outside").exists()
    assert not (nosy.path / "planted").exists()
    assert [one.name for one in (tmp_path / "server").iterdir()] == ["server.log"]


def test_without_isolation_the_same_build_reaches_everything(nosy: Source, daemon: str, tmp_path: Path) -> None:
    made = _built(nosy, tmp_path / "cache", None)
    assert made.log is not None
    found = dict(_attempts(made.log.read_text()))
    assert (tmp_path / "outside").exists()
    assert found.pop("kernel") == ("done" if os.access("/proc/sys/kernel/core_pattern", os.W_OK) else "refused")
    assert found == dict.fromkeys(ATTEMPTS - {"kernel"}, "done")
    assert _sleeping(daemon)


def test_a_link_out_of_the_build_folder_is_not_taken_for_the_server(
    nosy: Source, sandbox: Sandbox, tmp_path: Path
) -> None:
    secret = nosy.path.parent / "home" / "secret"
    made = "${CMAKE_BINARY_DIR}/bin"
    lines = (
        "cmake_minimum_required(VERSION 3.18)\nproject(nosy NONE)\nadd_custom_target(llama-server)",
        f"file(MAKE_DIRECTORY {made})",
        f"execute_process(COMMAND ln -s {secret} {made}/llama-server)",
    )
    (nosy.path / "CMakeLists.txt").write_text("\n".join(lines))
    with pytest.raises(BuildError, match="without making bin/llama-server"):
        _built(nosy, tmp_path / "cache", sandbox)


def test_a_checkouts_git_folder_with_its_token_is_not_seen(nosy: Source, sandbox: Sandbox, tmp_path: Path) -> None:
    (nosy.path / ".git").mkdir()
    (nosy.path / ".git" / "config").write_text("token")
    with (nosy.path / "CMakeLists.txt").open("a") as file:
        file.write('if(EXISTS "${CMAKE_SOURCE_DIR}/.git/config")\nmessage(FATAL_ERROR "seen")\nendif()\n')
    _built(nosy, tmp_path / "cache", sandbox)
    with pytest.raises(BuildError, match="seen"):
        _built(nosy, tmp_path / "other", None)


def test_a_tree_that_was_fetched_knows_its_commit_and_a_git_file_opens_no_other_folder(
    nosy: Source, sandbox: Sandbox, tmp_path: Path
) -> None:
    with (nosy.path / "CMakeLists.txt").open("a") as file:
        file.write("execute_process(COMMAND git -C ${CMAKE_SOURCE_DIR} rev-parse HEAD)\n")
        file.write(f"execute_process(COMMAND ls {tmp_path / 'elsewhere'})\n")
    git(nosy.path, "init", "-q", "-b", "master")
    git(nosy.path, "add", ".")
    git(nosy.path, "commit", "-q", "-m", "nosy")
    (tmp_path / "elsewhere" / "worktrees" / "it").mkdir(parents=True)
    cache = Cache(tmp_path / "cache")
    fetched = fetch_source(parse_source(f"git:{nosy.path}@master"), cache)
    told = _built(fetched, cache.root, sandbox).log
    assert told is not None
    assert fetched.identity.removeprefix("git-") in told.read_text().splitlines()

    shutil.rmtree(nosy.path / ".git")
    (nosy.path / ".git").write_text(f"gitdir: {tmp_path / 'elsewhere' / 'worktrees' / 'it'}\n")
    told = _built(replace(nosy, identity="dir-other"), cache.root, sandbox).log
    assert told is not None
    assert "worktrees" not in told.read_text().splitlines()


def test_a_crash_inside_is_named_as_outside(sandbox: Sandbox, tmp_path: Path) -> None:
    server = tmp_path / "bin" / "llama-server"
    server.parent.mkdir()
    server.write_text("#!/bin/sh\nkill -SEGV $$\n")
    server.chmod(0o755)
    with (
        pytest.raises(ServerDied, match="died of SIGSEGV"),
        serve(server, (), SPEC, tmp_path / "server", start_timeout_s=60, sandbox=sandbox),
    ):
        pass


def test_what_runs_inside_dies_with_a_killed_harness(sandbox: Sandbox, daemon: str) -> None:
    command, seen = confined(sandbox, ["sleep", daemon], {"PATH": os.defpath}, Opening())
    code = f"import subprocess; subprocess.run({command!r}, env={seen!r})"
    harness = subprocess.Popen([sys.executable, "-c", code])
    try:
        until(lambda: _sleeping(daemon), "the daemon began")
    finally:
        harness.kill()
        harness.wait()
    until(lambda: not _sleeping(daemon), "the daemon ended")
    assert _sleeping(daemon) == []


def test_a_socket_is_held_by_what_it_is_and_a_link_is_none(tmp_path: Path) -> None:
    other = tmp_path / "other.sock"
    with socket.socket(socket.AF_UNIX) as host, socket.socket(socket.AF_UNIX) as own, Door(tmp_path / "d") as door:
        host.bind(str(other))
        host.listen()
        place = door.folder / "server.sock"
        place.symlink_to(other)
        assert door.keeper() is None
        place.unlink()
        own.bind(str(place))
        own.listen()
        assert door.keeper() == os.getpid()
        place.unlink()
        place.symlink_to(other)
        assert door.keeper() == os.getpid()
        own.accept()[0].close()
        host.settimeout(0)
        with pytest.raises(BlockingIOError):
            host.accept()
    assert not door.folder.exists()


def _no_bwrap(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "empty").mkdir()
    monkeypatch.setenv("PATH", str(folder / "empty"))


def _no_namespaces(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = folder / "bwrap"
    script.write_text(
        '#!/bin/sh\n[ "$1" = --help ] && exit\necho "bwrap: No permissions to create new namespace" >&2; exit 1\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def _another_system(_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_mtp.runtime.sandbox.sys.platform", "darwin")


def _nothing(_folder: Path, _monkeypatch: pytest.MonkeyPatch) -> None:
    pass


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize(
    ("lacking", "more", "said"),
    [
        (_no_bwrap, (), "--mtp-isolate needs bubblewrap, and there is no bwrap: run apt install bubblewrap."),
        (_no_namespaces, (), "*here it says: bwrap: No permissions to create new namespace. Allow user namespaces*"),
        (_another_system, (), "--mtp-isolate needs Linux: *"),
        (
            _nothing,
            ("--mtp-endpoint=plain=http://127.0.0.1:1", "--mtp-endpoint=mtp=http://127.0.0.1:2"),
            "*--mtp-endpoint starts none: drop it.",
        ),
        (_nothing, ("--mtp-profile=vllm-qwen3.5-9b",), "*--mtp-isolate has no meaning for vLLM: drop it.*"),
    ],
)
def test_where_it_cannot_isolate_it_refuses_before_anything_runs(
    lacking: Callable[[Path, pytest.MonkeyPatch], None],
    more: tuple[str, ...],
    said: str,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lacking(pytester.path, monkeypatch)
    result = pytester.runpytest_inprocess("--mtp", "--mtp-isolate", *more)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{said}"])


@pytest.mark.real
def test_the_gate_answers_in_isolation_and_leaves_nothing(
    pytester: pytest.Pytester, sandbox: Sandbox, real_server: Path
) -> None:
    fixed = ("--mtp-isolate", "--mtp-json=r.json", "--mtp-set=gates.looks=[2]", "-k", "test_speedup and right")
    limits = "--mtp-set=classes=[{ name = 'right', prompt = '<|right|>', floor = 0.01 }]"
    ran = pytester.runpytest_subprocess(*arguments(real_server, *fixed, limits))
    assert ran.ret in {0, 17}
    told = json.loads((pytester.path / "r.json").read_text())
    text = json.dumps(told)
    assert '"isolated": "bubblewrap"' in text
    assert re.search(r'"command": "\S*bwrap --unshare-all .*--host /run/mtp/server.sock', text)
    assert not [
        one for one in psutil.process_iter(["cmdline"]) if str(pytester.path) in " ".join(one.info["cmdline"] or ())
    ]


@pytest.mark.real
def test_a_real_server_inside_is_proven_asked_and_ended(sandbox: Sandbox, real_server: Path, tmp_path: Path) -> None:
    from pytest_mtp.core.flags import negotiate
    from pytest_mtp.core.model import parse_model
    from pytest_mtp.core.request import Request
    from pytest_mtp.runtime.models import fetch_model
    from pytest_mtp.runtime.profiles import load_profile
    from tests.real.conftest import SMALL

    profile = load_profile(str(SMALL))
    model = fetch_model(parse_model("phantom"), profile.model.phantom, Cache(default_root()), lambda _: None)
    capabilities = probe(real_server, sandbox=sandbox)
    spec = ServerSpec(model=str(model.path), ctx=512, gpu_layers=0, host=HOST)
    line = negotiate(spec, capabilities)
    with serve(
        real_server, line, spec, tmp_path / "server", start_timeout_s=60, capabilities=capabilities, sandbox=sandbox
    ) as served:
        assert psutil.Process(served.pid).name() == "llama-server"
        assert served.ask(Request(prompt="<|right|>", n_predict=8, timeout_s=60)).timings.predicted_n == 8
        seen = Path(f"/proc/{served.pid}/environ").read_bytes()
        assert b"HOME=/tmp\0" in seen
    assert not psutil.pid_exists(served.pid)
    assert served.process.returncode in {0, 128 + signal.SIGTERM}
