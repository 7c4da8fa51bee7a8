"""Who asks the peers that misbehave: each by the URL of one, for the bytes of one file."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.model import parse_model
from pytest_mtp.core.source import parse_source
from pytest_mtp.errors import MtpError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.models.hub import HubFetcher
from pytest_mtp.runtime.models.hub_client import HubClient
from pytest_mtp.runtime.sources import fetch_source
from pytest_mtp.runtime.sources.release import ReleaseFetcher
from pytest_mtp.runtime.sources.sdist import SdistFetcher
from tests.fakes.gguf_file import small_model

MODEL = small_model("of the hub")
TOKEN = "hf_of_the_test_and_of_nobody"
_OFF = ("insecure", "verify=", "sslverify", "trusted-host", "without checking", "disable")
"""How a mend would begin that takes the checks away."""


@dataclass
class Asker:
    """What asks a peer by its URL, and what was said meanwhile."""

    ask: Callable[[str, Callable[[str], None]], bytes]
    said: list[str] = field(default_factory=list)

    def __call__(self, url: str) -> bytes:
        return self.ask(url, self.said.append)

    def refusal(self, url: str) -> str:
        with pytest.raises(MtpError) as caught:
            self(url)
        assert not any(word in str(caught.value).lower() for word in _OFF)
        return str(caught.value)


def hub_asker(folder: Path, **more: Any) -> Asker:
    """The model file; ``more`` are fields of the client, which is impatient."""
    client = replace(HubClient(cache_dir=folder / "hub", waits_s=(), deadline_s=0.5, quiet_s=0.05), **more)

    def ask(url: str, say: Callable[[str], None]) -> bytes:
        fetcher, spec = HubFetcher(replace(client, endpoint=url)), parse_model("hf:o/r/m.gguf")
        return fetcher.fetch(spec, Cache(folder / "ours"), say, refresh=False, verify=False).path.read_bytes()

    return Asker(ask)


def release_asker(folder: Path, **more: Any) -> Asker:
    """The llama-server of b7; ``more`` are fields of the fetcher, which is impatient."""
    fetcher = ReleaseFetcher(system="Linux", machine="x86_64", deadline_s=0.5, waits_s=())
    spec = replace(parse_source("release:b7"), backend=Backend.CPU)

    def ask(url: str, say: Callable[[str], None]) -> bytes:
        return replace(fetcher, api=url, **more).fetch(spec, Cache(folder), say).path.read_bytes()

    return Asker(ask)


def git_asker(folder: Path) -> Asker:
    """A file of the branch master."""

    def ask(url: str, say: Callable[[str], None]) -> bytes:
        source = fetch_source(parse_source(f"git:{url}/llama.cpp@master"), Cache(folder / "cache"), say)
        return (source.path / "CMakeLists.txt").read_bytes()

    return Asker(ask)


def pip_asker(folder: Path, monkeypatch: pytest.MonkeyPatch, deadline_s: float = 60.0) -> Asker:
    """A file of the sdist 7, which no index here has."""

    def ask(url: str, say: Callable[[str], None]) -> bytes:
        monkeypatch.setenv("PIP_INDEX_URL", f"{url}/simple")
        spec = parse_source(f"sdist:7#sha256={'0' * 64}")
        return SdistFetcher(deadline_s=deadline_s).fetch(spec, Cache(folder), say).path.read_bytes()

    return Asker(ask)
