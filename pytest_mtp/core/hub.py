"""Files on the hub of models: what names them, what the hub tells of them, and whether they are whole."""

import re
from dataclasses import dataclass

from pytest_mtp.core.amount import amount


@dataclass(frozen=True, slots=True, kw_only=True)
class HubFile:
    """A file as it is asked for on the hub."""

    repo: str
    name: str
    revision: str

    def __str__(self) -> str:
        return f"{self.repo}/{self.name}@{self.revision}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the hub said about a file."""

    commit: str
    sha256: str | None = None
    """``None`` for a small file, of which the hub tells only git's own hash."""
    size: int | None = None
    """Bytes."""


def mismatch_sentence(asked: HubFile, *, actual: str, expected: str, blob: str) -> str:
    """Cause and mend of a file whose bytes are not the hub's."""
    return (
        f"{asked.repo}/{asked.name} is damaged in the hub's cache: its sha256 is {actual}, the hub's is {expected}.\n"
        f"Delete {blob} and run again; it is then downloaded anew."
    )


def room_sentence(*, need: int, have: int, cache: str, unfinished: int) -> str | None:
    """Why a download does not fit, and the mend; ``None`` when it fits."""
    if need <= have:
        return None
    left = f" {amount(unfinished)} there are unfinished downloads (*.incomplete)." if unfinished else ""
    return (
        f"The download needs {amount(need)}, and the disk of the hub's cache {cache} has {amount(have)} free.{left}\n"
        "Free space, or move the cache with HF_HUB_CACHE."
    )


def is_commit(text: str) -> bool:
    """Whether a revision is a whole commit hash, which stands for the same files for ever."""
    return re.fullmatch(r"[0-9a-f]{40}", text) is not None


def is_sha256(text: str) -> bool:
    """Whether a text is the hash of a large file; a small one goes by git's own hash."""
    return re.fullmatch(r"[0-9a-f]{64}", text) is not None


def cache_folder(repo: str) -> str:
    """The folder that the hub's cache keeps a model repository in."""
    return f"models--{repo.replace('/', '--')}"
