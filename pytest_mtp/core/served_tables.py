"""What is served: whose servers, from which source, compiled how, with which model."""

import re
from dataclasses import dataclass, field
from enum import Enum

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.errors import SettingsError


class Serving(Enum):
    """Whose servers are measured."""

    LLAMA_CPP = "llama.cpp"
    """Compiled from the profile's source, and started for every block."""
    VLLM = "vllm"
    """The vLLM of this environment, started for every block; ``model.spec`` is what it calls the model."""
    RUNNING = "running"
    """Those of --mtp-endpoint, which somebody else started."""


@dataclass(frozen=True, slots=True)
class SourceTable:
    """Which llama.cpp; ``spec`` is what ``--mtp-source`` takes."""

    spec: str


@dataclass(frozen=True, slots=True)
class BuildTable:
    """How it is compiled; ``options`` are CMake cache entries that win over ours."""

    backend: Backend = Backend.CPU
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhantomTable:
    """The size of an embedded model, and the share of wrong guesses for each of its classes."""

    seed: int
    layers: int
    n_embd: int
    n_ff: int
    chain_length: int
    weights: str
    wrong: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTable:
    """Which model; ``spec`` is what ``--mtp-model`` takes."""

    spec: str
    sha256: str | None = None
    """Lowercase hash of the file that ``spec`` names; ``None`` where none was published."""
    size: int | None = None
    """Bytes of that file; ``None`` where it was not published, and for the phantom."""
    phantom: PhantomTable | None = None

    def __post_init__(self) -> None:
        if self.sha256 is not None and re.fullmatch(r"[0-9a-f]{64}", self.sha256) is None:
            raise SettingsError(f"model.sha256 is {self.sha256!r}; it is 64 lowercase hex digits.")
        if self.size is not None and self.size < 1:
            raise SettingsError(f"model.size is {self.size}; it must be at least 1.")
