"""Have a model file: written for the phantom, downloaded from the hub, or found where it lies."""

from pytest_mtp.core.model import Glance, Model, ModelKind, ModelSpec
from pytest_mtp.core.served_tables import PhantomTable
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.models.hub import HubFetcher
from pytest_mtp.runtime.models.local import LocalFetcher
from pytest_mtp.runtime.models.phantom import PhantomFetcher, phantom_spec
from pytest_mtp.runtime.models.protocol import Fetcher
from pytest_mtp.runtime.progress import Progress

__all__ = ["Fetcher", "HubFetcher", "LocalFetcher", "PhantomFetcher", "fetch_model", "glance_at", "phantom_spec"]


def fetch_model(
    spec: ModelSpec,
    table: PhantomTable | None,
    cache: Cache,
    progress: Progress,
    *,
    refresh: bool = False,
    verify: bool = False,
) -> Model:
    """The model that ``spec`` asks for; ModelError says why it cannot be had.

    A branch or tag of the hub stays at the commit that it stood for first, until ``refresh``. The bytes
    are hashed once, then weekly; ``verify`` hashes them now, as before a baseline is written.
    """
    return _fetcher(spec.kind, table).fetch(spec, cache, progress, refresh=refresh, verify=verify)


def glance_at(spec: ModelSpec, table: PhantomTable | None, cache: Cache, progress: Progress) -> Glance:
    """What can be told of a model without fetching or making it; MtpError says why nothing can."""
    return _fetcher(spec.kind, table).glance(spec, cache, progress)


def _fetcher(kind: ModelKind, table: PhantomTable | None) -> Fetcher:
    match kind:
        case ModelKind.PHANTOM:
            return PhantomFetcher(table)
        case ModelKind.HUB:
            return HubFetcher()
        case ModelKind.FILE:
            return LocalFetcher()
