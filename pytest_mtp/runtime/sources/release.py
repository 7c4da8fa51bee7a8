"""A llama-server that the llama.cpp project compiled and published."""

import hashlib
import json
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.release import Asset, Target, chosen_assets, expected_sha256, refusal
from pytest_mtp.core.source import UPSTREAM, Source, SourceSpec
from pytest_mtp.errors import SourceError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.progress import Progress
from pytest_mtp.runtime.sources.archive import extract

if TYPE_CHECKING:
    import httpx

_BIN = "bin"
_SERVER = "llama-server"
_ORIGIN = "release.json"
_DIGITS = 12
_OK = 200
_SILENCE_S = 60.0  # without a byte; a download as a whole may take as long as it takes
_PIECE_BYTES = 1 << 20
_MB = 1e6


@dataclass(frozen=True, slots=True)
class Release:
    """What the API says about a tag, as far as it matters here."""

    assets: tuple[Asset, ...]


@dataclass(frozen=True, slots=True)
class ReleaseFetcher:
    """``release:bN``: published binaries, whose hashes are asked for with their names.

    ::

        ENTRY/bin/llama-server   with everything that was packed beside it
        ENTRY/release.json       name and SHA-256 of each file it came from
    """

    api: str = "https://api.github.com"
    system: str = field(default_factory=platform.system)
    machine: str = field(default_factory=platform.machine)

    def fetch(self, spec: SourceSpec, cache: Cache, progress: Progress) -> Source:
        """Download, check and unpack; a release that is in the cache needs no network."""
        tag, target = spec.location, Target(self.system, self.machine, spec.backend)
        if spec.backend is Backend.AUTO:
            raise SourceError(f"A release has one binary per backend; say which for {tag}, such as --mtp-backend cpu.")
        recipe = {
            "name": f"{tag}-{spec.backend.value}",
            "form": "release",
            "api": self.api,
            "repository": UPSTREAM,
            "tag": tag,
            "backend": spec.backend.value,
            "system": self.system,
            "machine": self.machine,
        }
        entry = cache.entry("source", recipe, lambda to: self._make(tag, target, to, progress), progress)
        sha256 = json.loads((entry / _ORIGIN).read_text(encoding="utf-8"))[0]["sha256"]
        identity = f"release-{tag}-{sha256[:_DIGITS]}"
        return Source(kind=spec.kind, path=entry / _BIN / _SERVER, identity=identity, label=tag)

    def _make(self, tag: str, target: Target, entry: Path, progress: Progress) -> None:
        import httpx

        headers = {"User-Agent": "pytest-mtp", "Accept-Encoding": "identity"}
        with (
            httpx.Client(follow_redirects=True, timeout=_SILENCE_S, headers=headers) as http,
            tempfile.TemporaryDirectory(dir=entry, prefix="download-") as folder,
        ):
            progress(f"asking for the files of {tag}")
            assets = chosen_assets(tag, self._assets(http, tag), target)
            origin = [{"name": one.name, "sha256": expected_sha256(one)} for one in assets]
            archives = [_download(http, one, Path(folder), progress) for one in assets]
            progress(f"unpacking {tag}")
            _set_up(archives, entry / _BIN)
        (entry / _ORIGIN).write_text(json.dumps(origin, indent=2), encoding="utf-8")

    def _assets(self, http: "httpx.Client", tag: str) -> tuple[Asset, ...]:
        import msgspec

        path = UPSTREAM.removeprefix("https://github.com/")
        with _network_errors(f"The files of {tag} cannot be looked up at {self.api}"):
            answer = http.get(f"{self.api}/repos/{path}/releases/tags/{tag}")
        if answer.status_code != _OK:
            raise SourceError(refusal(tag, answer.status_code, answer.headers))
        try:
            return msgspec.json.decode(answer.content, type=Release).assets
        except msgspec.DecodeError as error:
            raise SourceError(f"What {self.api} answers about {tag} is no release: {error}.") from error


def _download(http: "httpx.Client", asset: Asset, folder: Path, progress: Progress) -> Path:
    """Return the file when it is whole and has the hash that the API names."""
    path, digest, received = folder / asset.name, hashlib.sha256(), 0
    with (
        _network_errors(f"The download of {asset.name} failed"),
        http.stream("GET", asset.browser_download_url) as answer,
        path.open("wb") as file,
    ):
        if answer.status_code != _OK:
            raise SourceError(f"{asset.name} cannot be downloaded: HTTP {answer.status_code}; try again later.")
        for piece in answer.iter_raw(_PIECE_BYTES):
            digest.update(piece)
            file.write(piece)
            received += len(piece)
            progress(f"downloading {asset.name}: {received / _MB:.0f} of {asset.size / _MB:.0f} MB")
    if received != asset.size:
        raise SourceError(
            f"{asset.name} came with {received} bytes, but has {asset.size}; it was not used. Try again later."
        )
    if digest.hexdigest() != (wanted := expected_sha256(asset)):
        raise SourceError(
            f"{asset.name} has the SHA-256 {digest.hexdigest()}, but the releases API says {wanted}; "
            "it was not unpacked. Try again; if it stays so, something between here and there changes files."
        )
    return path


@contextmanager
def _network_errors(problem: str) -> Iterator[None]:
    import httpx

    try:
        yield
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        reason = str(error) or type(error).__name__
        raise SourceError(f"{problem}: {reason}. Check the network and try again, or use another source.") from error


def _set_up(archives: list[Path], place: Path) -> None:
    """Make ``place`` the folder that holds llama-server, with the files of all further archives added."""
    first, *further = [_unpacked(one) for one in archives]
    servers = [one for one in first.rglob(_SERVER) if one.is_file() and not one.is_symlink()]
    if len(servers) != 1:
        raise SourceError(f"{archives[0].name} holds {len(servers)} files named {_SERVER}, where one belongs.")
    servers[0].chmod(servers[0].stat().st_mode | 0o111)
    shutil.move(servers[0].parent, place)
    for library in (one for folder in further for one in folder.rglob("*") if one.is_file()):
        shutil.move(library, place / library.name)


def _unpacked(archive: Path) -> Path:
    folder = archive.with_name(f"{archive.name}.unpacked")
    extract(archive, folder)
    return folder
