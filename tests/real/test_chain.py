"""The whole chain as a runner has it, its peers on loopback: a git host, a hub, CMake, llama-server, the gate.

Slow: both commits are compiled, through ccache in a minute or two where their sources were compiled before
(``make builds``).
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_mtp.core.source import parse_source
from pytest_mtp.phantom.spec import PhantomSpec
from pytest_mtp.phantom.writer import write
from pytest_mtp.runtime.cache import Cache, default_root
from pytest_mtp.runtime.sources import fetch_source
from tests.fakes import hub
from tests.fakes.git_server import git, serve_git

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.environ.get("MTP_TEST_BUILDS") != "make", reason="compiles two commits: make builds"),
]

REPO, FILE = "someone/phantom-GGUF", "phantom.gguf"
PHANTOM = PhantomSpec(
    seed=3,
    layers=4,
    n_embd=256,
    n_ff=512,
    chain_length=64,
    weights="q8_0",
    wrong=(("right", 0.0), ("mixed", 0.2)),
)
PROFILE = f"""
extends = {str(Path(__file__).with_name("small.toml"))!r}
name = "chain"
description = "A model of a hub, judged by floors."
unset = ["model.phantom"]

[model]
spec = "hf:{REPO}/{FILE}"

[gates]
looks = [3]

[[classes]]
name = "right"
floor = 0.1

[[classes]]
name = "mixed"
floor = 0.1
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two real versions as a history, the older one also as the head of a pull request."""
    bare = tmp_path / "served" / "llama.cpp.git"
    bare.parent.mkdir()
    git(tmp_path, "init", "-q", "--bare", str(bare))
    for name, value in {"uploadpack.allowFilter": "true", "core.compression": "0", "pack.window": "0"}.items():
        git(bare, "config", name, value)
    parents: list[str] = []
    for number, ref in (("9246", "pull/1/head"), ("11434", "heads/master")):
        tree = fetch_source(parse_source(f"sdist:{number}"), Cache(default_root())).path
        git(tree, f"--git-dir={bare}", f"--work-tree={tree}", "add", "-A", ".", ":!models", ":!docs", ":!media")
        commit = git(bare, "commit-tree", "-m", f"b{number}", *parents, git(bare, "write-tree"))
        git(bare, "update-ref", f"refs/{ref}", commit)
        parents = ["-p", commit]
    return bare


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[hub.FakeHub]:
    """A hub that has the phantom as somebody's model."""
    write(PHANTOM, tmp_path / FILE)
    with hub.serving() as served:
        served.publish(REPO, {FILE: (tmp_path / FILE).read_bytes()})
        yield served


@pytest.mark.parametrize("ref", ["pull/1/head", "master"])
def test_a_commit_of_a_git_host_with_a_model_of_a_hub_is_green(
    ref: str, repository: Path, peer: hub.FakeHub, tmp_path: Path
) -> None:
    (tmp_path / "chain.toml").write_text(PROFILE)
    report = tmp_path / "report.json"
    with serve_git(repository.parent) as host:
        done = gate(
            tmp_path,
            *("--mtp-profile", "chain.toml", "--mtp-json", str(report)),
            *("--mtp-source", f"git:{host.url}/{repository.name}@{ref}"),
            endpoint=peer.endpoint,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    circumstances = json.loads(report.read_text())["judged"][0]["campaign"]["circumstances"]
    commit = git(repository, "rev-parse", f"refs/heads/{ref}" if ref == "master" else f"refs/{ref}")
    assert commit[:7] in circumstances["build_label"]
    assert circumstances["model_label"].startswith(FILE)


def gate(folder: Path, *words: str, endpoint: str) -> subprocess.CompletedProcess[str]:
    """The gate as a runner starts it, with an empty cache but the compiler's."""
    suites = Path(__file__).parents[2] / "suites"
    told = {"HF_ENDPOINT": endpoint, "HF_HOME": str(folder / "hf"), "no_proxy": "127.0.0.1,localhost"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", str(suites), "--mtp", "--mtp-cache-dir", str(folder / "cache"), *words],
        cwd=folder,
        env={**os.environ, **told},
        text=True,
        capture_output=True,
        timeout=1800,
        check=False,
    )
