"""What is said when the hub is slow, broken or lying, and what a run is then worth."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_mtp.core.model import parse_model
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.models.hub import HubFetcher
from pytest_mtp.runtime.models.hub_client import HubClient
from tests.fakes.bad_line import Way, broken, dripping, line_to, silent, until
from tests.fakes.gguf_file import small_model
from tests.fakes.hub import FakeHub, Reply
from tests.fakes.hub import serving as serve_hub
from tests.plugin.gates import fake_profile, without_further_suites
from tests.reliability.askers import MODEL, TOKEN, hub_asker


@pytest.mark.parametrize(
    ("way", "cause"),
    [
        (dripping, "cannot be reached (no whole answer within 0.5 s)"),
        (silent, "cannot be reached (no whole answer within 0.5 s)"),
        (broken(20), "cannot be reached ("),
    ],
)
def test_a_hub_that_gives_no_whole_answer_is_a_sentence_in_time(
    way: Way, cause: str, hub: FakeHub, tmp_path: Path
) -> None:
    with line_to(hub.endpoint, way) as url:
        assert cause in hub_asker(tmp_path).refusal(url)


def test_a_hub_that_is_silent_for_long_is_given_up_before_the_deadline_of_the_whole(
    hub: FakeHub, tmp_path: Path
) -> None:
    with line_to(hub.endpoint, silent) as url:
        sentence = hub_asker(tmp_path, timeout_s=0.1, deadline_s=60.0).refusal(url)
    assert f"{url} cannot be reached (" in sentence
    assert "no whole answer" not in sentence


def test_a_download_that_drips_is_said_while_it_goes_on(hub: FakeHub, tmp_path: Path) -> None:
    heard, asker = threading.Event(), hub_asker(tmp_path, deadline_s=60.0)
    hub.publish("o/r", {"m.gguf": (data := small_model("long " * 10_000))})

    def hear(text: str) -> None:
        asker.said.append(text)
        if "; nothing more for" in text:
            heard.set()

    # Headers come whole, so that it is the file that drips.
    drip = until(heard)

    def way(pieces: Iterator[bytes], end: threading.Event) -> Iterator[bytes]:
        for piece in pieces:
            yield from (drip(iter([piece]), end) if b"GGUF" in piece or not piece.startswith(b"HTTP") else [piece])

    with line_to(hub.endpoint, way) as url:
        assert asker.ask(url, hear) == data
    assert heard.is_set()
    assert any(text.startswith("downloading m.gguf: 0 % of ") for text in asker.said)


@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        (Reply(401), "The hub wants a token for o/r"),
        (Reply(403, {"X-Error-Message": "not for you"}), "The hub forbids to read o/r/m.gguf (403 not for you)"),
        (Reply(404, {"X-Error-Code": "EntryNotFound"}), "o/r has no file m.gguf"),
        (
            Reply(429, {"Retry-After": "3600"}),
            "The hub answers 429 to o/r/m.gguf: too many requests from here, and asks",
        ),
        (Reply(429, {"RateLimit": '"resolvers";r=0;t=3600'}), "asks to wait 3600 s"),
        (Reply(503, {"Retry-After": "3600"}), "The hub failed when it was asked for o/r/m.gguf (503"),
        (Reply(503), "The hub failed when it was asked for o/r/m.gguf (503"),
    ],
)
def test_a_file_that_is_refused_after_it_was_announced_has_its_sentence(
    reply: Reply, cause: str, hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    hub.replies["GET"] = [reply] * 30
    assert cause in hub_asker(tmp_path, deadline_s=60.0).refusal(hub.endpoint)
    assert sum(waits) < 120
    assert list((tmp_path / "hub").rglob("*.incomplete")) == []


def test_a_hub_that_sends_in_a_circle_is_left(hub: FakeHub, tmp_path: Path) -> None:
    hub.replies["HEAD"] = [Reply(302, {"Location": "/o/r/resolve/main/m.gguf"})] * 50
    assert "redirects" in hub_asker(tmp_path, deadline_s=60.0).refusal(hub.endpoint)


def test_a_hub_that_sends_to_a_stranger_does_not_send_the_token_along(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with serve_hub() as stranger:
        stranger.publish("o/r", {"m.gguf": MODEL})
        target = f"{stranger.endpoint.replace('127.0.0.1', 'localhost')}/o/r/resolve/main/m.gguf"
        hub.replies["HEAD"] = [Reply(302, {"Location": target})]
        assert "is no hub" in hub_asker(tmp_path).refusal(hub.endpoint)
        hub.token = TOKEN
        hub.replies["GET"] = [Reply(302, {"Location": target})]
        assert hub_asker(tmp_path)(hub.endpoint) == MODEL
    assert any("+token" in request for request in hub.requests)
    assert stranger.requests
    assert not any("+token" in request for request in stranger.requests)


def test_a_look_at_a_header_on_another_host_sends_no_token_there(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.token, hub.redirect = TOKEN, True
    fetcher = HubFetcher(HubClient(endpoint=hub.endpoint, cache_dir=tmp_path / "hub", waits_s=()))
    fetcher.glance(parse_model("hf:o/r/m.gguf"), Cache(tmp_path), lambda _: None)
    sent = {request.split()[1].startswith("/cdn/"): "+token" in request for request in hub.requests}
    assert sent == {True: False, False: True}


def test_a_file_without_an_end_does_not_fill_the_disk(hub: FakeHub, tmp_path: Path) -> None:
    hub.wrong_bytes["m.gguf"] = bytes(100 << 20)
    sentence = hub_asker(tmp_path, deadline_s=60.0).refusal(hub.endpoint)
    assert "came with another size than the hub announced" in sentence
    assert "announced)" in sentence
    assert list((tmp_path / "hub").rglob("*.incomplete")) == []


@pytest.mark.parametrize("reply", [None, Reply(429, {"Retry-After": "3600"})])
def test_a_run_whose_hub_gives_no_model_ends_with_1_and_one_sentence(
    reply: Reply | None,
    hub: FakeHub,
    fake_binary: Path,
    unused_port: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "fake.toml").write_text(fake_profile("hf:o/r/m.gguf", a=3.9))
    hub.replies["HEAD"] = [reply] * 9 if reply else []
    monkeypatch.setenv("HF_ENDPOINT", hub.endpoint if reply else f"http://127.0.0.1:{unused_port}")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    words = ["-m", "pytest", *without_further_suites(), "--mtp", f"--mtp-profile={tmp_path / 'fake.toml'}"]
    more = [f"--mtp-source=bin:{fake_binary}", f"--mtp-cache-dir={tmp_path / 'cache'}", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, *words, *more, "suites/test_speedup.py"], capture_output=True, text=True, check=False
    )
    out = done.stdout + done.stderr
    assert done.returncode == 1, out
    assert "Traceback" not in out
    assert ("asks to wait 3600 s" if reply else "cannot be reached") in out
