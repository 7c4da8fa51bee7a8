"""Which model a server is asked for, where it must be told one."""

from collections.abc import Mapping, Sequence

from pytest_mtp.core.endpoint import Endpoint
from pytest_mtp.errors import ServerImposter
from pytest_mtp.runtime.engines.connection import Connection


def openai_models(connection: Connection) -> tuple[Mapping[str, object], ...] | None:
    """The entries of ``/v1/models``; ``None`` where the server has no such list."""
    doc = connection.look("/v1/models")
    data = None if doc is None else doc.get("data")
    return tuple(one for one in data if isinstance(one, dict)) if isinstance(data, list) else None


def chosen(endpoint: Endpoint, offers: Sequence[str]) -> str:
    """The model that the endpoint names, or the only one; ServerImposter names what there is."""
    there = ", ".join(offers) or "none"
    if endpoint.model is not None:
        if endpoint.model not in offers:
            raise ServerImposter(f"{endpoint.url} has no model {endpoint.model}; it has: {there}.")
        return endpoint.model
    if len(offers) != 1:
        raise ServerImposter(
            f"{endpoint.url} has {len(offers)} models ({there}); name one behind the URL, as in {endpoint.url}#MODEL."
        )
    return offers[0]
