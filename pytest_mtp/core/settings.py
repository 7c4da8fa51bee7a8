"""What the user asked of this run, resolved once; and how such wishes are spelled."""

import re
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.endpoint import Endpoint
from pytest_mtp.core.isolation import Isolation
from pytest_mtp.core.tier import Tier
from pytest_mtp.errors import SettingsError

_UNITS_S = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


class Mode(Enum):
    """Whether the suites measure, and on what."""

    OFF = "off"
    CPU = "cpu"
    GPU = "gpu"


class Update(Enum):
    """Which baselines a run may write."""

    NEW = "new"
    ALL = "all"
    SESSION = "session"
    """One more session beside those on record."""


class Vary(Enum):
    """What differs between the two that are compared."""

    SOURCE = "source"
    MODEL = "model"
    FLAG_SET = "flag-set"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The resolved options of one run; ``None`` leaves the profile's value."""

    mode: Mode
    profile: str
    source: str | None
    model: str | None
    flag_sets: tuple[str, ...]
    """Names to measure; empty means all of the profile."""
    assignments: tuple[str, ...]
    """``KEY=VALUE`` overrides of single profile values."""
    prompts: Path | None = None
    """A file whose classes take the place of the profile's."""
    backend: Backend | None
    """What computes; ``None`` leaves the profile's."""
    gpu_id: str | None
    """Index or UUID of the card to measure on; ``None`` is the first one."""
    lock_clocks: bool
    """Whether the card's clocks are fixed while it is measured."""
    refresh: bool
    """Whether the hub is asked anew what a branch or tag of the model stands for."""
    isolation: Isolation | None
    max_time_s: float | None
    update: Update | None
    baselines: Path
    cache_dir: Path
    json: Path | None
    strict: bool
    """Whether an answer that is none fails its test."""
    dear: bool = False
    """Whether the dear suites are measured without being named."""
    bisect: bool = False
    """Whether the run ends with what ``git bisect run`` takes."""
    history: Path | None = None
    """The folder where runs are kept, and by which this one is judged."""
    out: Path | None = None
    """The folder for everything that people and services look at."""
    isolate: bool = False
    """Whether build and servers run without network and home."""
    resume: bool = False
    """Whether the blocks that an interrupted run finished are taken up."""
    endpoints: tuple[Endpoint, ...] = ()
    """The running servers that are measured, one of each arm; empty where servers are started."""
    compare_to: str | None = None
    """The base that is measured in the same blocks, instead of a baseline: a source, model or flag set."""
    vary: Vary = Vary.SOURCE
    tier: Tier = Tier.SCREEN
    equivalence: bool = False
    """Whether a gain beyond the margin must be excluded too."""

    @property
    def of_base(self) -> "Settings":
        """How the base of a comparison is got ready."""
        if self.vary is Vary.SOURCE:
            return replace(self, source=self.compare_to)
        return replace(self, model=self.compare_to) if self.vary is Vary.MODEL else self


def parse_duration(text: str) -> float:
    """Seconds of ``90``, ``90s``, ``20m`` or ``1.5h``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|)", text.strip())
    if match is None or float(match[1]) == 0:
        raise SettingsError(f"{text!r} is no duration; write 90s, 20m or 1.5h.")
    return float(match[1]) * _UNITS_S[match[2]]
