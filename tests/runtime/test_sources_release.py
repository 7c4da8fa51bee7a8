"""Published binaries, from a peer on loopback that speaks the releases API."""

import gzip
import hashlib
import io
import random
import stat
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.source import Source, parse_source
from pytest_mtp.errors import SourceError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.sources import fetch_source
from pytest_mtp.runtime.sources.release import ReleaseFetcher
from tests.fakes.github import Fault, GitHub, serve_github

Fetch = Callable[[Backend], Source]

TAR = "llama-b7-bin-ubuntu-x64.tar.gz"
ZIP = "llama-b7-bin-ubuntu-x64.zip"
SERVER = b'#!/bin/sh\necho "version: 7 (abc)"\n'
LINK = b"-> libggml.so.0"
PACKED = {"llama-b7/llama-server": SERVER, "llama-b7/libggml.so.0": b"code", "llama-b7/libggml.so": LINK}


def tar(files: dict[str, bytes]) -> bytes:
    """Pack as upstream does: a value that starts with an arrow is a link."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            if content.startswith(b"-> "):
                member.type, member.linkname = tarfile.SYMTYPE, content[3:].decode()
            else:
                member.size, member.mode = len(content), 0o755 if content == SERVER else 0o644
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def spoiled(packed: bytes) -> bytes:
    """Break a tar in its middle, so that only decompressing finds out."""
    packer = zlib.compressobj(wbits=31)
    start = packer.compress(gzip.decompress(packed)[:100_000]) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + b"\xff" * 100


def zipped(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            link = content.startswith(b"-> ")
            info.external_attr = (stat.S_IFLNK | 0o777 if link else stat.S_IFREG | 0o644) << 16
            archive.writestr(info, content.removeprefix(b"-> "))
    return packed.getvalue()


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHub]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serve_github() as github:
        yield github


def fetcher(api: str, cache: Path) -> Fetch:
    way = ReleaseFetcher(api=api, system="Linux", machine="x86_64", waits_s=())
    spec = parse_source("release:b7")
    return lambda backend: way.fetch(replace(spec, backend=backend), Cache(cache), lambda _: None)


@pytest.fixture
def fetch(github: GitHub, tmp_path: Path) -> Fetch:
    return fetcher(github.api, tmp_path)


@pytest.mark.parametrize(("name", "pack"), [(TAR, tar), (ZIP, zipped)])
@pytest.mark.parametrize("top", ["llama-b7/", "build/bin/", ""])
def test_a_release_gives_a_server_that_runs_with_its_libraries_beside_it(
    name: str, pack: Callable[[dict[str, bytes]], bytes], top: str, fetch: Fetch, github: GitHub
) -> None:
    github.files[name] = pack({path.replace("llama-b7/", top): content for path, content in PACKED.items()})
    source = fetch(Backend.CPU)
    assert (source.label, source.kind.ready_made) == ("b7", True)
    assert source.identity == f"release-b7-{hashlib.sha256(github.files[name]).hexdigest()[:12]}"
    assert subprocess.run([source.path], capture_output=True, check=True).stdout == b"version: 7 (abc)\n"
    assert (source.path.parent / "libggml.so").readlink() == Path("libggml.so.0")
    assert sorted(one.name for one in source.path.parent.parent.iterdir()) == [
        ".mtp-entry.json",
        ".mtp-seal.json",
        "bin",
        "release.json",
    ]


def test_a_release_is_fetched_once_and_then_needs_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serve_github() as github:
        github.files[TAR] = tar(PACKED)
        fetch = fetcher(github.api, tmp_path)
        first = fetch(Backend.CPU)
        asked = len(github.asked)
        assert fetch(Backend.CPU) == first
        assert len(github.asked) == asked
    assert fetch(Backend.CPU) == first


def test_backends_are_kept_apart(fetch: Fetch, github: GitHub) -> None:
    github.files = {TAR: tar(PACKED), "llama-b7-bin-ubuntu-vulkan-x64.tar.gz": tar({**PACKED, "llama-b7/v.so": b""})}
    paths = {fetch(backend).path for backend in (Backend.CPU, Backend.VULKAN)}
    assert sorted((path.parent / "v.so").exists() for path in paths) == [False, True]


def test_cuda_comes_with_its_runtime_libraries(fetch: Fetch, github: GitHub) -> None:
    name = "bin-ubuntu-cuda-12.8-x64.tar.gz"
    github.files[f"cudart-llama-b7-{name}"] = tar({"cudart-llama-b7/libcudart.so.12": b"cuda"})
    github.files[f"llama-b7-{name}"] = tar(PACKED)
    source = fetch(Backend.CUDA)
    assert (source.path.parent / "libcudart.so.12").read_bytes() == b"cuda"
    assert source.identity.endswith(hashlib.sha256(github.files[f"llama-b7-{name}"]).hexdigest()[:12])


def test_a_token_of_the_environment_is_not_sent(fetch: Fetch, github: GitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "s3cret")
    monkeypatch.setenv("GH_TOKEN", "s3cret")
    github.files[TAR] = tar(PACKED)
    fetch(Backend.CPU)
    assert "Authorization" not in github.sent
    assert "s3cret" not in str(github.sent)


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (Fault.NO_DIGEST, rf"names no SHA-256 for {TAR}.*bin:PATH"),
        (Fault.NO_JSON, "answers about b7 is no release"),
        (Fault.OTHER_BYTES, rf"{TAR} has the SHA-256 [0-9a-f]{{64}}, but the releases API says .*not unpacked"),
        (Fault.CUT, rf"download of {TAR} failed: .*Check the network and try again"),
        (Fault.SHORT, rf"{TAR} came with \d+ bytes, but has \d+; it was not used"),
        (Fault.FILE_LATER, rf"{TAR} cannot be downloaded: HTTP 503"),
    ],
)
def test_what_arrives_otherwise_than_announced_is_not_used(
    fault: Fault, sentence: str, fetch: Fetch, github: GitHub, tmp_path: Path
) -> None:
    github.files[TAR], github.fault = tar(PACKED), fault
    with pytest.raises(SourceError, match=sentence):
        fetch(Backend.CPU)
    assert not list(tmp_path.rglob("llama-server"))
    github.fault = Fault.NONE
    assert fetch(Backend.CPU).path.is_file()


def test_a_file_without_a_hash_is_not_even_downloaded(fetch: Fetch, github: GitHub) -> None:
    github.files[TAR], github.fault = tar(PACKED), Fault.NO_DIGEST
    with pytest.raises(SourceError, match="cannot be checked and is not used"):
        fetch(Backend.CPU)
    assert len(github.asked) == 1


def test_a_tag_that_is_no_release_is_refused(github: GitHub, tmp_path: Path) -> None:
    spec = replace(parse_source("release:b8"), backend=Backend.CPU)
    with pytest.raises(SourceError, match="no release b8; not every number is one"):
        ReleaseFetcher(api=github.api).fetch(spec, Cache(tmp_path), lambda _: None)


def test_the_limit_of_the_api_is_told_with_its_end(fetch: Fetch, github: GitHub) -> None:
    github.status, github.headers = 403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1800000000"}
    with pytest.raises(SourceError, match="too often, until 2027-01-15 08:00 UTC"):
        fetch(Backend.CPU)


def test_a_release_without_a_fitting_file_lists_the_others(fetch: Fetch, github: GitHub) -> None:
    github.files[TAR] = tar(PACKED)
    with pytest.raises(SourceError, match="no binary for vulkan on Linux x86_64; it has: ubuntu-x64"):
        fetch(Backend.VULKAN)


def test_a_network_that_is_down_is_said(unused_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(SourceError, match=r"files of b7 cannot be looked up at http.*Check the network"):
        fetcher(f"http://127.0.0.1:{unused_port}", tmp_path)(Backend.CPU)


@pytest.mark.parametrize(("name", "pack"), [(TAR, tar), (ZIP, zipped)])
@pytest.mark.parametrize("evil", [{"llama-b7/../../evil": b""}, {"llama-b7/a": b"-> ../../.."}, {"a": b"-> /etc"}])
def test_an_archive_that_leads_outside_is_refused(
    name: str,
    pack: Callable[[dict[str, bytes]], bytes],
    evil: dict[str, bytes],
    fetch: Fetch,
    github: GitHub,
) -> None:
    github.files[name] = pack({**PACKED, **evil})
    with pytest.raises(SourceError, match=f"{name} cannot be unpacked safely"):
        fetch(Backend.CPU)


LARGE = tar({"llama-b7/llama-server": random.Random(7).randbytes(200_000).hex().encode()})


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (TAR, b""),
        (TAR, b"no archive"),
        (TAR, LARGE[:-1000]),
        (TAR, spoiled(LARGE)),
        (ZIP, b""),
        (ZIP, zipped(PACKED)[:-30]),
        (ZIP, zipped({"llama-server": SERVER}).replace(b"echo", b"halt")),
    ],
)
def test_a_broken_archive_is_refused(name: str, content: bytes, fetch: Fetch, github: GitHub) -> None:
    github.files[name] = content
    with pytest.raises(SourceError, match=f"{name} cannot be unpacked safely"):
        fetch(Backend.CPU)


def test_an_archive_without_a_server_is_refused(fetch: Fetch, github: GitHub) -> None:
    github.files[TAR] = tar({"llama-b7/llama-cli": SERVER})
    with pytest.raises(SourceError, match=f"{TAR} holds 0 files named llama-server"):
        fetch(Backend.CPU)


def test_a_backend_must_be_decided_before_a_release_is_fetched(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="one binary per backend; say which for b7, such as --mtp-backend cpu"):
        fetch_source(parse_source("release:b7"), Cache(tmp_path))
