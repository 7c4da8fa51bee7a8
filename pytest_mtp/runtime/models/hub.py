"""A model of the hub: a revision pinned to a commit, its parts downloaded once, their bytes checked."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_mtp.core.amount import amount
from pytest_mtp.core.gguf_header import Header, merged, read_header
from pytest_mtp.core.hub import Found, HubFile, is_commit, mismatch_sentence, room_sentence
from pytest_mtp.core.hub_refusal import UNASKED, Refusal, Refused, refusal_sentence
from pytest_mtp.core.model import Glance, Model, ModelSpec, part_names
from pytest_mtp.errors import ModelError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.header import model_header
from pytest_mtp.runtime.models.digest import Digests
from pytest_mtp.runtime.models.hub_cache import HubCache, linked_sha256
from pytest_mtp.runtime.models.hub_client import HubClient
from pytest_mtp.runtime.models.ledger import Ledger
from pytest_mtp.runtime.models.local import inspect, model_of
from pytest_mtp.runtime.models.remote import remote_file
from pytest_mtp.runtime.progress import Progress

_DEFAULT_REVISION = "main"


@dataclass(frozen=True, slots=True)
class HubFetcher:
    """Have a file of the hub; HF_ENDPOINT, HF_HUB_CACHE and HF_TOKEN are read by huggingface_hub alone."""

    client: HubClient = field(default_factory=HubClient)

    def fetch(self, spec: ModelSpec, cache: Cache, progress: Progress, *, refresh: bool, verify: bool) -> Model:
        """The model at the commit that its revision was pinned to, without a request when it is cached.

        The first fetch, and one with ``refresh``, ask the hub which commit the revision stands for; the
        pin is written when all parts are there. A hub that cannot be asked is no obstacle to a first
        fetch whose files are cached: they are used and not pinned.
        """
        fetch = _Fetch(client=self.client, cache=cache, progress=progress, asked=_parts(spec), refresh=refresh)
        fetch.sweep()
        return fetch.checked(fetch.at_hand() or fetch.from_hub(), verify=verify)

    def glance(self, spec: ModelSpec, cache: Cache, progress: Progress) -> Glance:
        """Its header from the hub's cache, else the first megabytes of each file from the hub; nothing is kept."""
        return _Fetch(client=self.client, cache=cache, progress=progress, asked=_parts(spec), refresh=False).glance()


def _parts(spec: ModelSpec) -> tuple[HubFile, ...]:
    """The files of a model, one for most."""
    revision = spec.revision or _DEFAULT_REVISION
    return tuple(HubFile(repo=spec.location, name=name, revision=revision) for name in part_names(str(spec.file)))


class _HubError(ModelError):
    """The hub did not give a file; ``kind`` says why."""

    def __init__(self, message: str, kind: Refusal = Refusal.OTHER) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One file that is there."""

    asked: HubFile
    found: Found
    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fetch:
    """One model on its way: what was asked for, and what it is asked with."""

    client: HubClient
    cache: Cache
    progress: Progress
    asked: tuple[HubFile, ...]
    """All parts, at the revision as the user wrote it."""
    refresh: bool

    @property
    def hub_cache(self) -> HubCache:
        """The repository in the hub's cache."""
        return HubCache(self.client.cache, self.asked[0].repo)

    @property
    def pins(self) -> Ledger[Found]:
        """What the hub said when a revision was resolved first."""
        return Ledger(self.cache, "pins", Found)

    def sweep(self) -> None:
        """Make room of what killed downloads left."""
        if freed := self.hub_cache.sweep():
            self.progress(f"removed downloads of {self.asked[0].repo} that were never completed: {amount(freed)} freed")

    def at_hand(self) -> tuple[_Part, ...] | None:
        """The parts at the pinned commit, or at the one that was asked for by its hash, when all are cached."""
        revision = self.asked[0].revision
        if self.refresh and not is_commit(revision):
            return None
        pins = self.pins.entries()
        whole = Found(commit=revision) if is_commit(revision) else None
        known = [pins.get(str(part), whole) for part in self.asked]
        return self._cached([found for found in known if found is not None])

    def from_hub(self) -> tuple[_Part, ...]:
        """The parts at the commit that the hub names, or as they are cached when it cannot be asked."""
        try:
            told = self._told()
        except _HubError as error:
            stale = self._stale() if error.kind in UNASKED and not self.refresh else None
            if stale is None:
                raise
            self.progress(f"the hub: {error.kind.value}; {stale[0].found.commit[:7]} in its cache is used, not pinned")
            return stale
        parts = self._downloaded(told)
        self.pins.put({str(part.asked): part.found for part in parts})
        return parts

    def glance(self) -> Glance:
        """The model as it is cached, or as the hub has it."""
        if (parts := self.at_hand()) is not None:
            header = model_header(parts[0].path)
            return Glance(here=True, size=header.size, header=header)
        told = self._told()
        headers = [self._header(part, found) for part, found in zip(self.asked, told, strict=True)]
        header = merged(headers, name=str(self.asked[0]))
        return Glance(here=False, size=header.size, header=header)

    def checked(self, parts: tuple[_Part, ...], *, verify: bool) -> Model:
        """The model of the parts, once their bytes are known to be the hub's."""
        digests = Digests(self.cache)
        hashes = []
        for part in parts:
            actual = digests.sha256(part.path, self.progress, verify=verify)
            expected = part.found.sha256 or linked_sha256(part.path)
            if expected not in (None, actual):
                blob = str(part.path.resolve())
                raise ModelError(mismatch_sentence(part.asked, actual=actual, expected=str(expected), blob=blob))
            hashes.append(actual)
        paths = [part.path for part in parts]
        inspect(paths)
        model, commit = model_of(paths, hashes), parts[0].found.commit
        return replace(model, label=f"{model.label} @ {commit[:7]}", commit=commit)

    def _cached(self, found: list[Found]) -> tuple[_Part, ...] | None:
        """The parts in the hub's cache; ``None`` unless all are known, of one commit, and there."""
        if len(found) != len(self.asked) or len({told.commit for told in found}) != 1:
            return None
        have = [
            _Part(asked=part, found=told, path=path)
            for part, told in zip(self.asked, found, strict=True)
            if (path := self.client.cached(replace(part, revision=told.commit))) is not None
        ]
        return tuple(have) if len(have) == len(found) else None

    def _stale(self) -> tuple[_Part, ...] | None:
        """The parts as they were when the hub was last asked by anybody."""
        paths = [path for part in self.asked if (path := self.client.cached(part)) is not None]
        return self._cached([Found(commit=self.hub_cache.commit(path)) for path in paths])

    def _told(self) -> list[Found]:
        """What the hub says about all parts, at the commit that it names for the first."""
        told: list[Found] = []
        for part in self.asked:
            at = replace(part, revision=told[0].commit if told else self._revision())
            answer = self.client.head(at, self.progress)
            if isinstance(answer, Refused):
                raise self._error(at, answer)
            told.append(answer)
        return told

    def _header(self, part: HubFile, found: Found) -> Header:
        at = replace(part, revision=found.commit)

        def stretch(start: int, length: int) -> bytes:
            answer = self.client.part(at, start, length)
            if isinstance(answer, Refused):
                raise self._error(at, answer)
            return answer

        size = found.size or 0
        return read_header(remote_file(stretch, size), size, name=str(part))

    def _revision(self) -> str:
        """The pinned commit, whose files were deleted, or else the revision as it was asked for."""
        pin = None if self.refresh else self.pins.get(str(self.asked[0]))
        return self.asked[0].revision if pin is None else pin.commit

    def _downloaded(self, told: list[Found]) -> tuple[_Part, ...]:
        """The parts in the hub's cache, downloaded where they are not yet."""
        self._require_room(told)
        parts = []
        for part, found in zip(self.asked, told, strict=True):
            at = replace(part, revision=found.commit)
            path = self.client.download(at, found.size, self.progress)
            if isinstance(path, Refused):
                raise self._error(at, path)
            parts.append(_Part(asked=part, found=found, path=path))
        return tuple(parts)

    def _require_room(self, told: list[Found]) -> None:
        blobs = self.hub_cache.blobs
        need = sum(found.size or 0 for found in told if not (found.sha256 and (blobs / found.sha256).exists()))
        if not need:
            return
        self.progress(f"downloading {self.asked[0].repo}/{self.asked[0].name}: {amount(need)}")
        have, unfinished = self.hub_cache.free(), self.hub_cache.unfinished()
        if sentence := room_sentence(need=need, have=have, cache=str(self.client.cache), unfinished=unfinished):
            raise ModelError(sentence)

    def _error(self, at: HubFile, refused: Refused) -> _HubError:
        if refused.kind is Refusal.NO_FILE:
            refused = replace(refused, names=self.client.names(at))
        sentence = refusal_sentence(at, refused, hub=self.client.address, cache=str(self.client.cache))
        asked = self.asked[0].revision
        if refused.kind is Refusal.NO_REVISION and at.revision != asked:
            sentence += f"\n{asked} was pinned to that commit by an earlier run; delete {self.pins.path} to ask anew."
        return _HubError(sentence, refused.kind)
