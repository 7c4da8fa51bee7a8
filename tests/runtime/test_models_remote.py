"""What a model on the hub says about itself, of which only the beginning crosses the wire."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_mtp.core.hub_refusal import Refusal
from pytest_mtp.core.model import parse_model
from pytest_mtp.errors import ModelError
from pytest_mtp.phantom.spec import PhantomSpec
from pytest_mtp.phantom.writer import write
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.header import model_header
from pytest_mtp.runtime.models.hub import HubFetcher
from pytest_mtp.runtime.models.hub_client import HubClient
from pytest_mtp.runtime.models.remote import remote_file
from pytest_mtp.runtime.progress import silent
from tests.fakes.hub import FakeHub, serving

REPO, NAME = "o/r", "m.gguf"
SPEC = parse_model(f"hf:{REPO}/{NAME}")
# Larger than what is fetched at once, so that the tensors stay where they are.
PHANTOM = PhantomSpec(seed=1, layers=4, n_embd=512, n_ff=4096, chain_length=64, weights="f16", wrong=(("right", 0.0),))


@pytest.fixture(scope="module")
def phantom(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("phantom") / NAME
    write(PHANTOM, path)
    return path


@pytest.fixture
def hub(phantom: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    import huggingface_hub

    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    huggingface_hub.close_session()
    with serving() as served:
        served.publish(REPO, {NAME: phantom.read_bytes()})
        yield served


def fetcher(hub: FakeHub, folder: Path) -> HubFetcher:
    return HubFetcher(HubClient(endpoint=hub.endpoint, cache_dir=folder / "hub", waits_s=()))


@pytest.mark.parametrize("redirect", [False, True])
def test_the_header_is_read_without_a_download(
    hub: FakeHub,
    phantom: Path,
    tmp_path: Path,
    redirect: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    hub.redirect = redirect
    seen = fetcher(hub, tmp_path).glance(SPEC, Cache(tmp_path), silent)
    assert (seen.here, seen.size, seen.header) == (False, phantom.stat().st_size, model_header(phantom))
    assert not (tmp_path / "hub").exists()
    asked = [request for request in hub.requests if request.startswith("GET")]
    assert asked
    assert all(request.endswith("Range") for request in asked)


def test_a_refusal_is_the_same_sentence_as_of_a_download(hub: FakeHub, tmp_path: Path) -> None:
    hub.repos[REPO].gated = True
    with pytest.raises(ModelError, match="HF_TOKEN"):
        fetcher(hub, tmp_path).glance(SPEC, Cache(tmp_path), silent)


def test_a_peer_that_would_send_the_whole_file_is_not_listened_to(hub: FakeHub, tmp_path: Path) -> None:
    hub.knows_ranges = False
    with pytest.raises(ModelError) as caught:
        fetcher(hub, tmp_path).glance(SPEC, Cache(tmp_path), silent)
    assert getattr(caught.value, "kind", None) is Refusal.NO_HUB


def test_only_what_is_read_is_fetched() -> None:
    data = bytes(range(256)) * 100_000
    asked: list[tuple[int, int]] = []

    def part(start: int, length: int) -> bytes:
        asked.append((start, length))
        return data[start : start + length]

    stream = remote_file(part, len(data))
    stream.seek(1000)
    assert stream.read(4) == data[1000:1004]
    stream.seek(-3, 2)
    assert stream.read() == data[-3:]
    assert sum(length for _, length in asked) < len(data) / 2
