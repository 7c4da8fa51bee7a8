"""What every way to a llama.cpp has in common."""

from typing import Protocol

from pytest_mtp.core.source import Source, SourceSpec
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.progress import Progress


class Fetcher(Protocol):
    """One way to have a llama.cpp."""

    def fetch(self, spec: SourceSpec, cache: Cache, progress: Progress) -> Source:
        """Have what ``spec`` asks for on this disk; ``SourceError`` says why it cannot be had."""
