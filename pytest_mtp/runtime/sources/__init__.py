"""Have a llama.cpp: published binaries, a released sdist, from git, or where it lies."""

from collections.abc import Mapping
from types import MappingProxyType

from pytest_mtp.core.source import Source, SourceKind, SourceSpec
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.progress import Progress, silent
from pytest_mtp.runtime.sources.git import GitFetcher
from pytest_mtp.runtime.sources.local import BinFetcher, DirFetcher
from pytest_mtp.runtime.sources.protocol import Fetcher
from pytest_mtp.runtime.sources.release import ReleaseFetcher
from pytest_mtp.runtime.sources.sdist import SdistFetcher

__all__ = ["Fetcher", "fetch_source"]

_FETCHERS: Mapping[SourceKind, Fetcher] = MappingProxyType(
    {
        SourceKind.RELEASE: ReleaseFetcher(),
        SourceKind.SDIST: SdistFetcher(),
        SourceKind.GIT: GitFetcher(),
        SourceKind.DIR: DirFetcher(),
        SourceKind.BIN: BinFetcher(),
    }
)


def fetch_source(spec: SourceSpec, cache: Cache, progress: Progress = silent) -> Source:
    """Have what ``spec`` asks for; ``SourceError`` says why it cannot be had, and what to do."""
    return _FETCHERS[spec.kind].fetch(spec, cache, progress)
