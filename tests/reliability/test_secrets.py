"""A canary in every variable that is called like a key: found in no child, and in nothing that is written or said."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from pytest_mtp.core.endpoint import parse_endpoint
from pytest_mtp.core.secret import Secret, holds_login, is_secret, masked, names_secret
from pytest_mtp.core.source import parse_source
from pytest_mtp.errors import SettingsError
from pytest_mtp.runtime.child import child_environment, trusted_environment
from pytest_mtp.runtime.engines.attached import endpoint_key
from pytest_mtp.runtime.process import server_environment
from pytest_mtp.runtime.toolchain import ENVIRONMENT
from tests.fakes.gguf_file import small_model
from tests.fakes.git_server import git, serve_git
from tests.plugin.gates import fake_profile, without_further_suites
from tests.real.test_gate import arguments

_ROOT = Path(__file__).parents[2]
_FAKE = _ROOT / "tests" / "fakes" / "llama_server.py"
_CANARY = "canary5e1fb07c"
_NAMES = (
    "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "GITHUB_TOKEN", "GH_TOKEN", "RUNPOD_API_KEY", "AWS_SECRET_ACCESS_KEY",
    "MTP_ENDPOINT_KEY", "CUDA_SECRET_KEY", "GGML_TOKEN", "HIP_API_KEY", "SCCACHE_WEBDAV_TOKEN", "PIP_TOKEN",
)  # fmt: skip
_LOGIN = f"http://user:{_CANARY}@127.0.0.1:9"
_CMAKE = """
cmake_minimum_required(VERSION 3.18)
project(tiny CXX)
execute_process(COMMAND env OUTPUT_FILE {dumps}/cmake)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${{CMAKE_BINARY_DIR}}/bin)
add_custom_target(dump ALL COMMAND env > {dumps}/compiler VERBATIM)
add_executable(llama-server main.cpp)
add_dependencies(llama-server dump)
"""
_MAIN = """
#include <cstdlib>
#include <unistd.h>
int main(int, char ** words) {{
    std::system("env > {dumps}/server");
    words[0] = (char *) "llama-server";
    return execv("{server}", words);
}}
"""


@pytest.fixture
def canaries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a careless CI job: a key under every name, and one in the proxy's address."""
    for name in _NAMES:
        monkeypatch.setenv(name, _CANARY)
    for name in ("http_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, _LOGIN)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A llama.cpp whose build and server write down what they see."""
    dumps, server, repository = tmp_path / "dumps", tmp_path / "server.sh", tmp_path / "served" / "tiny"
    dumps.mkdir()
    repository.mkdir(parents=True)
    server.write_text(f'#!/bin/sh\nexec {sys.executable} {_FAKE} --fault honest "$@"\n')
    server.chmod(0o755)
    (repository / "CMakeLists.txt").write_text(_CMAKE.format(dumps=dumps))
    (repository / "main.cpp").write_text(_MAIN.format(dumps=dumps, server=server))
    git(repository, "init", "-q", "-b", "master")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "tiny")
    return repository


@pytest.fixture
def hooks(pytester: pytest.Pytester, tmp_path: Path) -> Path:
    """What hooks of the user would leave if they ran; pytester has made the home folder ours."""
    ran, folder = tmp_path / "hook-ran", tmp_path / "hooks"
    folder.mkdir()
    for name in ("post-checkout", "reference-transaction", "pre-auto-gc", "fsmonitor"):
        (folder / name).write_text(f"#!/bin/sh\nenv >> {ran}\n")
        (folder / name).chmod(0o755)
    (pytester.path / ".gitconfig").write_text(f"[core]\nhooksPath = {folder}\nfsmonitor = {folder / 'fsmonitor'}\n")
    return ran


def _files_with_canary(*folders: Path) -> Iterator[Path]:
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and _CANARY.encode() in path.read_bytes():
                yield path


@pytest.mark.usefixtures("canaries")
def test_a_whole_run_from_git_to_report_gives_no_key_away(
    pytester: pytest.Pytester, repository: Path, hooks: Path, tmp_path: Path
) -> None:
    (tmp_path / "model.gguf").write_bytes(small_model())
    (pytester.path / "fake.toml").write_text(fake_profile(a=99.0))
    with serve_git(repository.parent) as served:
        ran = pytester.runpytest_subprocess(
            *without_further_suites(), "--mtp", "-vv", "--showlocals", "-ra", "-k", "speedup",
            f"--mtp-source=git:{served.url}/tiny@master", f"--mtp-model={tmp_path / 'model.gguf'}",
            "--mtp-profile=fake.toml", f"--mtp-cache-dir={tmp_path / 'cache'}", "--mtp-json=r.json", "--mtp-out=out",
            "--mtp-history=history", "--junit-xml=junit.xml", f"--basetemp={tmp_path / 'logs'}",
        )  # fmt: skip
    assert ran.ret == pytest.ExitCode.TESTS_FAILED
    ran.stdout.fnmatch_lines(["*REGRESSION*"])
    dumps = {path.name: path.read_text() for path in (tmp_path / "dumps").iterdir()}
    assert dumps.keys() == {"cmake", "compiler", "server"}
    assert all("PATH=" in text for text in dumps.values())
    for made in ("r.json", "junit.xml", "out", "history"):
        assert (pytester.path / made).exists()
    assert not hooks.exists()
    assert _CANARY not in ran.stdout.str() + ran.stderr.str()
    assert list(_files_with_canary(tmp_path, pytester.path)) == []


_BENCHMARKS_OWN = ["git", "rev-parse", "--git-dir"]
"""pytest-benchmark asks this whenever pytest starts, before any plugin has a say; docs/security.md names it."""


@pytest.mark.real
@pytest.mark.usefixtures("canaries")
def test_no_child_of_a_real_run_has_a_key_in_its_environment(pytester: pytest.Pytester, real_server: Path) -> None:
    """Every child is looked at while it runs; one that has yet to become its program still shows the harness's own."""
    words = arguments(real_server, "--mtp-set=gates.looks=[2]", "-k", "test_speedup and right")
    with (pytester.path / "said").open("wb") as said:
        harness = subprocess.Popen([sys.executable, "-m", "pytest", *words], cwd=pytester.path, stdout=said)
    seen: dict[str, set[bool]] = {}
    try:
        parent = psutil.Process(harness.pid)
        own = [sys.executable, "-m", "pytest", *words]  # of a child that is about to become another program
        while harness.poll() is None:
            for child in parent.children(recursive=True):
                with suppress(psutil.Error, OSError):
                    line = child.cmdline()  # first: what shows its own name has its own variables, too
                    variables = Path(f"/proc/{child.pid}/environ").read_bytes()
                    if line not in ([], own, _BENCHMARKS_OWN):
                        seen.setdefault(Path(line[0]).name, set()).add(_CANARY.encode() in variables)
            with suppress(subprocess.TimeoutExpired):
                harness.wait(0.01)
    finally:
        harness.kill()
        harness.wait()
    assert seen.get("llama-server") == {False}
    assert all(found == {False} for found in seen.values()), seen
    assert list(_files_with_canary(pytester.path)) == []


@pytest.mark.usefixtures("canaries")
@pytest.mark.parametrize("patterns", [("*",), ENVIRONMENT])
def test_a_name_that_is_allowed_is_left_out_when_it_is_called_like_a_key(
    patterns: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GGML_SEEN", "1")
    for seen in (child_environment(patterns), server_environment()):
        assert _CANARY not in str(seen)
        assert seen["GGML_SEEN"] == "1"
    assert trusted_environment(["*_proxy"]) == {"http_proxy": _LOGIN}
    assert str(endpoint_key()) == _CANARY
    assert _CANARY not in repr(endpoint_key())


@pytest.mark.parametrize(
    "text",
    [
        f"git:https://user:{_CANARY}@host/org/llama.cpp@master",
        f"git:https://{_CANARY}@host/org/llama.cpp@master",
        f"git:ssh://git:{_CANARY}@host/org/llama.cpp@master",
        f"git:https://user:{_CANARY}@host",
        f"gitt:https://user:{_CANARY}@host/x@y",
        f"git:ftp://user:{_CANARY}@host/x@y",
    ],
)
def test_a_source_with_a_login_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_source(text)
    assert _CANARY not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        f"mtp=http://user:{_CANARY}@host:1",
        f"mpt=http://user:{_CANARY}@host:1",
        f"mtp=vlm:http://user:{_CANARY}@host:1",
        f"mtp=http://user:{_CANARY}@host:99999",
        f"mtp=http://host:1/?key={_CANARY}",
        f"mtp=ftp://user:{_CANARY}@host:1",
    ],
)
def test_an_endpoint_with_a_login_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_endpoint(text)
    assert _CANARY not in str(caught.value)


def test_what_is_called_like_a_key_and_what_only_sounds_so() -> None:
    assert all(map(names_secret, _NAMES))
    plain = (
        "PATH",
        "GIT_CONFIG_KEY_0",
        "CUDA_VISIBLE_DEVICES",
        "GGML_MONKEY",
        "LC_ALL",
        "CUDA_CACHE_PATH",
        "TOKENIZERS",
    )
    assert not any(map(names_secret, plain))
    logins = [("x", "http://u:p@h"), ("https_proxy", "user:pw@proxy:3128"), ("ALL_PROXY", "socks5h://u/x:pw@p")]
    assert all(holds_login(*one) for one in logins)
    assert not any(holds_login(*one) for one in [("x", "http://h/a@b"), ("LDFLAGS", "-L/a@b")])
    keys = [("CUDA_AUTH", "x"), ("GGML_HFTOKEN", "x"), ("GGML_X", "hf_abcdefghijklmnopqrst"), ("GGML_PWD", "x")]
    assert all(is_secret(*one) for one in [*keys, ("CCACHE_REMOTE_STORAGE", "http://h|bearer-token=x")])
    assert not any(is_secret(*one) for one in [("SSH_AUTH_SOCK", "/tmp/s"), ("PWD", "/tmp"), ("CUDA_HOME", "/usr")])


def test_tokens_are_masked_wherever_they_stand() -> None:
    token = "ghp_" + "a" * 36
    assert masked(f"fatal: 'https://u:p@h/x' and {token}") == "fatal: 'https://...@h/x' and ..."
    assert masked("https://host/org/llama.cpp@master") == "https://host/org/llama.cpp@master"
    assert repr(Secret("key")) == "<secret>"
