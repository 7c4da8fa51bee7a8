"""Which model is measured: what was asked for, and what was found."""

import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from pytest_mtp.errors import SettingsError

_FORMS = "phantom, phantom:head=broken, phantom:head=degraded:P[@CLASS], hf:OWNER/REPO/FILE[@REVISION] or a path"


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
    """The file in the hub's repository."""
    revision: str | None = None
    """Branch, tag or commit on the hub; ``None`` is its default branch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model file that exists."""

    path: Path
    identity: str
    """Content hash of a file; the parameters without an injected fault for a phantom."""
    label: str
    size: int
    """Bytes."""


def parse_model(text: str) -> ModelSpec:
    """A ModelSpec of what ``--mtp-model`` takes; SettingsError lists the forms."""
    if text == "phantom" or text.startswith("phantom:"):
        return _phantom(text)
    if text.startswith("hf:"):
        return _hub(text)
    if not text:
        raise SettingsError(f"An empty model was asked for; write {_FORMS}.")
    return ModelSpec(kind=ModelKind.FILE, location=text.removeprefix("file:"))


def _phantom(text: str) -> ModelSpec:
    fault = re.fullmatch(r"phantom(?::head=(.+))?", text)
    if fault is None:
        raise SettingsError(f"{text!r} is no phantom; write {_FORMS}.")
    return ModelSpec(kind=ModelKind.PHANTOM, location=fault[1] or "sound")


def _hub(text: str) -> ModelSpec:
    found = re.fullmatch(r"hf:([\w.-]+/[\w.-]+)/([^@]+\.gguf)(?:@([\w./-]+))?", text)
    if found is None:
        raise SettingsError(f"{text!r} is no file on the hub; write hf:OWNER/REPO/FILE.gguf[@REVISION].")
    return ModelSpec(kind=ModelKind.HUB, location=found[1], file=found[2], revision=found[3])
