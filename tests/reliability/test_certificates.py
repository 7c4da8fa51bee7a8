"""A peer that proves nothing about itself is not asked, and the way to trust it is named; never to do without."""

import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.bad_line import certificate, line_to, whole
from tests.reliability.askers import MODEL, TOKEN, Asker, git_asker, hub_asker, pip_asker, release_asker
from tests.runtime.test_sources_release import PACKED


def trusted_by_nobody(folder: Path) -> ssl.SSLContext:
    return certificate(folder)


def expired(folder: Path) -> ssl.SSLContext:
    return certificate(folder, days=("20200101000000Z", "20200201000000Z"))


def of_another_host(folder: Path) -> ssl.SSLContext:
    return certificate(folder, name="DNS:elsewhere.example")


_TRUST = ("SSL_CERT_FILE", "GIT_SSL_CAINFO", "PIP_CERT")


@pytest.fixture(params=["hub", "releases", "git", "index"])
def peer(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Asker, str]:
    """Who is asked, and the plain URL of a peer that would answer."""
    match request.param:
        case "hub":
            url = request.getfixturevalue("hub").endpoint
            monkeypatch.setenv("HF_TOKEN", TOKEN)
            return hub_asker(tmp_path, deadline_s=60.0), url
        case "releases":
            return release_asker(tmp_path, deadline_s=60.0), request.getfixturevalue("github").api
        case "git":
            return git_asker(tmp_path), request.getfixturevalue("server").url
    request.getfixturevalue("pip")
    return pip_asker(tmp_path, monkeypatch), request.getfixturevalue("github").api


@pytest.mark.parametrize("kind", [trusted_by_nobody, expired, of_another_host])
def test_a_certificate_that_proves_nothing_is_said_and_nothing_is_asked_behind_it(
    kind: Callable[[Path], ssl.SSLContext],
    peer: tuple[Asker, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asker, far = peer
    (tmp_path / "tls").mkdir()
    context = kind(tmp_path / "tls")
    if kind is not trusted_by_nobody:  # then its authority is not the matter
        for name in _TRUST:
            monkeypatch.setenv(name, str(tmp_path / "tls" / "cert.pem"))
    answered: list[bytes] = []

    def way(pieces: Iterator[bytes], _end: threading.Event) -> Iterator[bytes]:
        for piece in pieces:
            answered.append(piece)
            yield piece

    with line_to(far, way, context) as url:
        sentence = asker.refusal(url)
    assert "not accepted" in sentence
    assert "Check this machine's clock" in sentence
    assert any(name in sentence for name in _TRUST)
    assert answered == []
    assert TOKEN not in sentence


def test_the_mend_that_is_named_helps(
    peer: tuple[Asker, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    asker, far = peer
    (tmp_path / "tls").mkdir()
    context = trusted_by_nobody(tmp_path / "tls")
    for name in _TRUST:
        monkeypatch.setenv(name, str(tmp_path / "tls" / "cert.pem"))
    if "hub" in request.node.name:
        monkeypatch.delenv("HF_TOKEN")
    with line_to(far, whole, context) as url:
        if "index" in request.node.name:  # it has no such package
            assert "certificate" not in asker.refusal(url)
        else:
            assert asker(url) in {MODEL, b"first", PACKED["llama-b7/llama-server"]}
