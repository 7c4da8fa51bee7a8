"""A llama-server that the llama.cpp project compiled and published."""

import hashlib
import json
import platform
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.certificate import CERTIFICATE_MEND
from pytest_mtp.core.release import Asset, Target, chosen_assets, expected_sha256, pause_s, refusal
from pytest_mtp.core.source import UPSTREAM, Source, SourceSpec
from pytest_mtp.errors import SourceError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.certificate import certificate_complaint
from pytest_mtp.runtime.deadline import within
from pytest_mtp.runtime.models.meter import Meter
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
_MOST_BYTES = 32 * 2**20  # a hundred times what the API says of one release


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
    deadline_s: float = 60.0
    """For the whole answer of the API, however it trickles in; a download has none, and says how it goes."""
    waits_s: tuple[float, ...] = (1.0, 4.0)
    """Pauses before the API is asked again, where its refusal may pass and it names no pause of its own."""
    patience_s: float = 60.0
    """The longest pause that the API may ask for."""

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
        entry = cache.entry("source", recipe, lambda to: self._make(tag, target, to, progress), progress, sealed=True)
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
            assets = chosen_assets(tag, self._assets(http, tag, progress), target)
            origin = [{"name": one.name, "sha256": expected_sha256(one)} for one in assets]
            archives = [_download(http, one, Path(folder), progress) for one in assets]
            progress(f"unpacking {tag}")
            _set_up(archives, entry / _BIN)
        (entry / _ORIGIN).write_text(json.dumps(origin, indent=2), encoding="utf-8")

    def _assets(self, http: "httpx.Client", tag: str, progress: Progress) -> tuple[Asset, ...]:
        import msgspec

        path = UPSTREAM.removeprefix("https://github.com/")
        answer = self._answer(http, f"{self.api}/repos/{path}/releases/tags/{tag}", tag, progress)
        if answer.status != _OK:
            raise SourceError(refusal(tag, answer.status, answer.headers))
        try:
            return msgspec.json.decode(answer.content, type=Release).assets
        except msgspec.DecodeError as error:
            raise SourceError(f"What {self.api} answers about {tag} is no release: {error}.") from error

    def _answer(self, http: "httpx.Client", url: str, tag: str, progress: Progress) -> "_Answer":
        """What the API says, asked again where its refusal may pass."""
        with _network_errors(f"The files of {tag} cannot be looked up at {self.api}"):
            for usual_s in self.waits_s:
                answer = within(self.deadline_s, lambda: _asked(http, url))
                wait_s = pause_s(answer.status, answer.headers, usual_s)
                if wait_s is None or wait_s > self.patience_s:
                    return answer
                progress(f"the releases API: HTTP {answer.status}; asking again in {wait_s:.0f} s")
                time.sleep(wait_s)
            return within(self.deadline_s, lambda: _asked(http, url))


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer of the API; header names are lowercase."""

    status: int
    headers: Mapping[str, str]
    content: bytes


def _asked(http: "httpx.Client", url: str) -> _Answer:
    """One answer, as it came over the wire; of one without an end, the beginning, which is no release."""
    with http.stream("GET", url) as answer:
        content = bytearray()
        for piece in answer.iter_raw():
            content += piece
            if len(content) > _MOST_BYTES:
                break
        return _Answer(answer.status_code, answer.headers, bytes(content))


def _download(http: "httpx.Client", asset: Asset, folder: Path, progress: Progress) -> Path:
    """Return the file when it is whole and has the hash that the API names."""
    path, digest, received = folder / asset.name, hashlib.sha256(), 0
    meter = Meter(f"downloading {asset.name}", asset.size, progress)
    with (
        _network_errors(f"The download of {asset.name} failed"),
        http.stream("GET", asset.browser_download_url) as answer,
        path.open("wb") as file,
    ):
        if answer.status_code != _OK:
            raise SourceError(f"{asset.name} cannot be downloaded: HTTP {answer.status_code}; try again later.")
        for piece in answer.iter_raw():
            digest.update(piece)
            file.write(piece)
            received += len(piece)
            meter.add(len(piece))
            if received > asset.size:  # perhaps without an end, which would fill the disk
                break
    if received != asset.size:
        raise SourceError(
            f"{asset.name} came with {received} bytes{' and more' * (received > asset.size)}, but has {asset.size}; "
            "it was not used. Try again later."
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
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
        if (complaint := certificate_complaint(error)) is not None:
            raise SourceError(
                f"{problem}: its certificate is not accepted ({complaint}). {CERTIFICATE_MEND}"
            ) from error
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
