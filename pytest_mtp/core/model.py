"""Which model is measured: what was asked for, and what was found."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from pytest_mtp.core.gguf_header import Header
from pytest_mtp.errors import SettingsError

_FORMS = "phantom, phantom:head=broken, phantom:head=degraded:P[@CLASS], hf:OWNER/REPO/FILE[@REVISION] or a path"
_HUB_FORM = "write hf:OWNER/REPO/FILE.gguf[@REVISION]"

# The name that llama.cpp gives to the parts of one model, and by which llama-server finds the others.
_SPLIT = re.compile(r"(?P<name>.+)-(?P<part>[0-9]{5})-of-(?P<parts>[0-9]{5})\.gguf")


class ModelKind(Enum):
    """Where a model comes from."""

    PHANTOM = "phantom"
    HUB = "hf"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A model as it is asked for."""

    kind: ModelKind
    location: str
    """``OWNER/REPO`` on the hub, a path for a file, the head's fault (or ``sound``) for the phantom."""
    file: str | None = None
    """The file in the hub's repository; of a split model, any of its parts."""
    revision: str | None = None
    """Branch, tag or commit on the hub; ``None`` is its default branch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model file that exists."""

    path: Path
    """The file; of a split model, its first part."""
    identity: str
    """Content hash of a file, over all parts; the parameters without an injected fault for a phantom."""
    label: str
    size: int
    """Bytes, over all parts."""
    commit: str | None = None
    """The hub's commit that the file is of; ``None`` for what is not of the hub."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """What can be told of a model without having it."""

    here: bool
    """Whether it is on this disk already."""
    size: int | None = None
    """Bytes; ``None``: not told."""
    header: Header | None = None
    """``None`` where it must be made first."""


def parse_model(text: str) -> ModelSpec:
    """A ModelSpec of what ``--mtp-model`` takes; SettingsError lists the forms."""
    if text == "phantom" or text.startswith("phantom:"):
        return _phantom(text)
    if text.startswith("hf:"):
        return _hub(text)
    if not text:
        raise SettingsError(f"An empty model was asked for; write {_FORMS}.")
    return ModelSpec(kind=ModelKind.FILE, location=text.removeprefix("file:"))


def part_names(file: str) -> tuple[str, ...]:
    """All files of the model that ``file`` is a part of, first to last; ``file`` alone when it is whole."""
    split = _SPLIT.fullmatch(file)
    if split is None:
        return (file,)
    part, parts = int(split["part"]), int(split["parts"])
    if not 1 <= part <= parts:
        raise SettingsError(f"{file} says that it is part {part} of {parts}; name a part that there can be.")
    return tuple(f"{split['name']}-{number:05}-of-{parts:05}.gguf" for number in range(1, parts + 1))


def content_identity(sha256: Sequence[str]) -> str:
    """The identity of a model, of the hashes of its parts in their order."""
    if len(sha256) == 1:
        return f"sha256-{sha256[0]}"
    return f"sha256-{hashlib.sha256(chr(10).join(sha256).encode()).hexdigest()}"


def _phantom(text: str) -> ModelSpec:
    fault = re.fullmatch(r"phantom(?::head=(.+))?", text)
    if fault is None:
        raise SettingsError(f"{text!r} is no phantom; write {_FORMS}.")
    return ModelSpec(kind=ModelKind.PHANTOM, location=fault[1] or "sound")


def _hub(text: str) -> ModelSpec:
    found = re.fullmatch(r"hf:([\w.-]+/[\w.-]+)/([^@\\]+\.gguf)(?:@([\w./-]+))?", text)
    if found is None:
        raise SettingsError(f"{text!r} is no file on the hub; {_HUB_FORM}.")
    # The name becomes a path in the hub's cache.
    if any(step in {"", ".", ".."} for step in found[2].split("/")):
        raise SettingsError(f"{text!r} has an empty step or a dot for a folder in its file; {_HUB_FORM}.")
    return ModelSpec(kind=ModelKind.HUB, location=found[1], file=found[2], revision=found[3])
