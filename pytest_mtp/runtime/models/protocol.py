"""What every way to a model has in common."""

from typing import Protocol

from pytest_mtp.core.model import Glance, Model, ModelSpec
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.progress import Progress


class Fetcher(Protocol):
    """One way to have a model."""

    def fetch(self, spec: ModelSpec, cache: Cache, progress: Progress, *, refresh: bool, verify: bool) -> Model:
        """Have what ``spec`` asks for on this disk; ``ModelError`` says why it cannot be had.

        ``refresh`` asks again what a branch or tag stands for; ``verify`` hashes the bytes even if
        that was done lately.
        """

    def glance(self, spec: ModelSpec, cache: Cache, progress: Progress) -> Glance:
        """Look at what ``spec`` asks for without fetching or making it; MtpError says why it cannot be seen."""
