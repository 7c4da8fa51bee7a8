"""The peers that misbehave, each with one thing to give."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_mtp.runtime.cache import default_root
from tests.fakes.git_server import GitServer, new_repository, serve_git
from tests.fakes.github import GitHub, serve_github
from tests.fakes.hub import FakeHub
from tests.fakes.hub import serving as serve_hub
from tests.reliability.askers import MODEL
from tests.runtime.conftest import fake_binary, unused_port
from tests.runtime.test_sources_release import PACKED, TAR, tar

__all__ = ["fake_binary", "unused_port"]


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """A hub that has one model, for who has no token."""
    import huggingface_hub

    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    huggingface_hub.close_session()
    with serve_hub() as served:
        served.publish("o/r", {"m.gguf": MODEL})
        yield served
        huggingface_hub.close_session()


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHub]:
    """The release b7 for Linux."""
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
    with serve_github() as served:
        served.files[TAR] = tar(PACKED)
        yield served


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GitServer]:
    """A repository of one commit."""
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
    (tmp_path / "served").mkdir()
    new_repository(tmp_path / "served" / "llama.cpp")
    with serve_git(tmp_path / "served") as served:
        yield served


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pip that nobody configured, and that asks once."""
    for name, value in {"CONFIG_FILE": "/dev/null", "RETRIES": "0", "NO_CACHE_DIR": "1"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT", "PIP_NO_INDEX", "PIP_CERT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def real_server() -> Path:
    """A real llama-server that was compiled before; skips where there is none."""
    found = sorted((default_root() / "build").glob("b11434-*/bin/llama-server"))
    if not found:
        pytest.skip("no llama-server of b11434 is in the cache; tests/real builds one")
    return found[-1]
