"""The hub, asked through huggingface_hub: refusals come back as data, waits are bounded, tokens stay unseen."""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from pytest_mtp.core.hub import Found, HubFile, is_sha256
from pytest_mtp.core.hub_refusal import PASSING, Refusal, Refused, asked_wait_s
from pytest_mtp.runtime.deadline import within
from pytest_mtp.runtime.models.hub_refusal import http_library, refused
from pytest_mtp.runtime.models.meter import Meter, bar_class, kept_talking
from pytest_mtp.runtime.progress import Progress

T = TypeVar("T")

_PARTIAL = 206


@dataclass(frozen=True, slots=True, kw_only=True)
class HubClient:
    """One hub and its cache; ``None`` leaves the choice to huggingface_hub and its environment."""

    endpoint: str | None = None
    cache_dir: Path | None = None
    timeout_s: float = 10.0
    """The longest silence of the hub, asked about a file; HF_HUB_ETAG_TIMEOUT does not apply to it."""
    deadline_s: float = 60.0
    """For one whole answer about a file, however it trickles in; a download has none, and says how it goes."""
    waits_s: tuple[float, ...] = (1.0, 4.0)
    """Pauses before a request that failed for a passing reason is made again."""
    quiet_s: float = 30.0
    """How long a download may say nothing, since huggingface_hub tells of whole stretches of 10 MB only."""
    patience_s: float = 60.0
    """The longest pause that the hub may ask for."""

    @property
    def address(self) -> str:
        """Where the hub is."""
        from huggingface_hub import constants

        return self.endpoint or constants.ENDPOINT

    @property
    def cache(self) -> Path:
        """The folder of the hub's cache."""
        from huggingface_hub import constants

        return Path(self.cache_dir or constants.HF_HUB_CACHE).expanduser().absolute()

    def cached(self, asked: HubFile) -> Path | None:
        """The file in the hub's cache, without a request; a branch stands for what it was when last asked."""
        from huggingface_hub import try_to_load_from_cache

        # What cannot be looked up, for its name or the folder's rights, is not there; the hub says why.
        found = _attempt(
            lambda: try_to_load_from_cache(asked.repo, asked.name, cache_dir=self.cache, revision=asked.revision)
        )
        return Path(found) if isinstance(found, str) else None

    def head(self, asked: HubFile, progress: Progress) -> Found | Refused:
        """What the hub says about a file, asked again a few times when the reason for a refusal may pass."""
        for wait_s in self.waits_s:
            answer = self._head(asked)
            if not isinstance(answer, Refused) or answer.kind not in PASSING:
                return answer
            pause_s = wait_s if answer.wait_s is None else answer.wait_s
            if pause_s > self.patience_s:
                return answer
            progress(f"the hub: {answer.detail or answer.kind.value}; asking again in {pause_s:.0f} s")
            time.sleep(pause_s)
        return self._head(asked)

    def names(self, asked: HubFile) -> tuple[str, ...]:
        """The files of the repository; empty when they cannot be had."""
        from huggingface_hub import HfApi

        def listed() -> tuple[str, ...]:
            api = HfApi(endpoint=self.endpoint)
            info = api.model_info(asked.repo, revision=asked.revision, timeout=self.timeout_s)
            return tuple(file.rfilename for file in info.siblings or ())

        answer = self._asked(listed)
        return () if isinstance(answer, Refused) else answer

    def download(self, asked: HubFile, size: int | None, progress: Progress) -> Path | Refused:
        """The file at a commit, in the hub's cache; the hub's own retries bridge a connection that breaks."""
        from huggingface_hub import hf_hub_download

        meter = Meter(f"downloading {asked.name}", size, progress)

        def downloaded() -> Path:
            # By keyword: the hub reorders parameters between versions.
            path = hf_hub_download(
                repo_id=asked.repo,
                filename=asked.name,
                revision=asked.revision,
                cache_dir=self.cache,
                endpoint=self.endpoint,
                etag_timeout=self.timeout_s,
                tqdm_class=bar_class(meter),
            )
            return Path(path)

        # In this thread: an interrupt must end it here, or half a file would be left.
        with kept_talking(meter, self.quiet_s), _impatient(self.patience_s):
            answer = _attempt(downloaded)
        if isinstance(answer, Refused) and answer.kind is Refusal.UNREACHABLE:
            return replace(answer, kind=Refusal.CUT)
        return answer

    def part(self, asked: HubFile, start: int, length: int) -> bytes | Refused:
        """Some bytes of a file, without its download."""
        from huggingface_hub import get_session, hf_hub_url
        from huggingface_hub.utils import (  # type: ignore[attr-defined]  # exported, but lazily
            build_hf_headers,
            hf_raise_for_status,
        )

        def sent() -> bytes | Refused:
            url = hf_hub_url(asked.repo, asked.name, revision=asked.revision, endpoint=self.endpoint)
            headers = {**build_hf_headers(), "Range": f"bytes={start}-{start + length - 1}"}
            with get_session().stream("GET", url, headers=headers, timeout=self.timeout_s) as response:
                hf_raise_for_status(response)
                # A server that knows no ranges would send all 17 GB.
                return response.read() if response.status_code == _PARTIAL else Refused(kind=Refusal.NO_HUB)

        return self._asked(sent)

    def _head(self, asked: HubFile) -> Found | Refused:
        from huggingface_hub import get_hf_file_metadata, hf_hub_url

        def headed() -> Found | Refused:
            url = hf_hub_url(asked.repo, asked.name, revision=asked.revision, endpoint=self.endpoint)
            told = get_hf_file_metadata(url, timeout=self.timeout_s, endpoint=self.endpoint)
            if told.commit_hash is None or told.etag is None:
                return Refused(kind=Refusal.NO_HUB)
            sha256 = told.etag if is_sha256(told.etag) else None
            return Found(commit=told.commit_hash, sha256=sha256, size=told.size)

        return self._asked(headed)

    def _asked(self, act: Callable[[], T]) -> T | Refused:
        return _attempt(lambda: within(self.deadline_s, act))


@contextmanager
def _impatient(patience_s: float) -> Iterator[None]:
    """Refuse a longer wait that the hub asks for within the block: huggingface_hub sleeps through any, unsaid."""
    from huggingface_hub import get_session
    from huggingface_hub.utils import hf_raise_for_status  # type: ignore[attr-defined]  # exported, but lazily

    def refuse(response: Any) -> None:
        if response.is_error and (asked_wait_s(response.headers) or 0.0) > patience_s:
            hf_raise_for_status(response)

    hooks = get_session().event_hooks["response"]
    hooks.append(refuse)
    try:
        yield
    finally:
        hooks.remove(refuse)


def _attempt(act: Callable[[], T]) -> T | Refused:
    """What ``act`` returns, or why huggingface_hub could not do it."""
    hub_http = http_library()
    try:
        # A suite may make warnings errors, and what the hub warns of is checked here.
        with warnings.catch_warnings(action="ignore"):
            return act()
    # All that the hub raises for a request: its own errors, those of its HTTP library, and of the disk.
    except (OSError, ValueError, RuntimeError, hub_http.HTTPError, hub_http.InvalidURL) as error:
        return refused(error)
