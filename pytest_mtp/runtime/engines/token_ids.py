"""The ids of a text or of a prompt, by the ``/tokenize`` that vLLM and SGLang share."""

from collections.abc import Mapping
from types import MappingProxyType

from pytest_mtp.errors import MeasureError
from pytest_mtp.runtime.engines.connection import Connection


def token_ids(
    connection: Connection, text: str, named: Mapping[str, str] = MappingProxyType({}), *, opening: bool = False
) -> list[int]:
    """The ids of a text; those that a model puts before a prompt only where it is the ``opening`` of one."""
    body = {**named, "prompt": text, "add_special_tokens": opening}
    ids = connection.document("/tokenize", body).get("tokens")
    if not isinstance(ids, list) or not all(isinstance(one, int) for one in ids):
        raise MeasureError(f"/tokenize answered {ids!r} where the ids of tokens belong.")
    return ids


def prompt_ids(
    connection: Connection, prompt: tuple[str | int, ...], named: Mapping[str, str] = MappingProxyType({})
) -> list[int]:
    """The ids of texts and ids in turn."""
    ids: list[int] = []
    for place, part in enumerate(prompt):
        ids += token_ids(connection, part, named, opening=place == 0) if isinstance(part, str) else [part]
    return ids
