"""One measurement of a fleet: which machine measures what, and what came of it."""

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import PurePath

from pytest_mtp.core.run_report import RunReport
from pytest_mtp.core.status import UNDECIDED
from pytest_mtp.errors import InputError

CPU = "cpu"
"""The kind of a cell that needs no card."""

ALL = ""
"""Of a source or flag set: what the profile says."""

_LONGEST = 500
_MOST_MINUTES = 24 * 60
_SUITE = re.compile(r"test_\w+\.py", re.ASCII)
_OPTION = re.compile(r"--(mtp-[a-z][a-z-]*)(=.+)?", re.ASCII)
_OF_THE_CELL = frozenset({"mtp-profile", "mtp-source", "mtp-flag-set"})
_OF_THE_FLEET = frozenset({"mtp-json", "mtp-out", "mtp-history"})
_OTHER_STATUS = frozenset({"mtp-bisect"})


class State(Enum):
    """Where a cell is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    LOST = "lost"
    """Its node went away, and no twin took it: nothing is known, and nothing is held against it."""
    REFUSED = "refused"
    """No machine has what it needs."""

    @property
    def over(self) -> bool:
        """Whether there is a result that is kept."""
        return self is State.DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One run of the gate on one machine."""

    id: str = ""
    """12 hex digits of a hash over all else, so that the same cell is the same everywhere; may be left out."""
    machine: str
    kind: str
    """What it needs to itself, such as ``RTX 3090``; ``cpu`` needs no card."""
    source: str = ALL
    """llama.cpp as ``--mtp-source`` takes it; empty for the profile's."""
    profile: str
    flag_set: str = ALL
    """Empty for all of the profile."""
    options: tuple[str, ...] = ()
    """More words for pytest: ``--mtp-X=Y``, and names of suites, without which all are asked."""
    minutes: float = 60.0
    """The most that it may take."""

    def __post_init__(self) -> None:
        for name in ("machine", "kind", "profile"):
            if not getattr(self, name):
                raise InputError(f"A cell needs a {name}; name one.")
        for text in (self.machine, self.kind, self.source, self.profile, self.flag_set, *self.options):
            if len(text) > _LONGEST or not text.isprintable():
                raise InputError(f"{text!r:.80} of a cell is no name; write one of at most {_LONGEST} letters.")
        for option in self.options:
            _check_option(option)
        if not 0 < self.minutes <= _MOST_MINUTES:
            raise InputError(f"A cell cannot take {self.minutes:g} minutes; give more than 0 and at most a day.")
        if not self.id:
            object.__setattr__(self, "id", _digest(self))
        if self.id != _digest(self):
            raise InputError(f"Cell {self.id:.40} is not what its id says; plan the fleet anew.")

    @property
    def suites(self) -> tuple[str, ...]:
        """The names of the suites that are asked; none means all."""
        return tuple(one for one in self.options if _SUITE.fullmatch(one))

    @property
    def switches(self) -> tuple[str, ...]:
        """The options that are none of suites."""
        return tuple(one for one in self.options if not _SUITE.fullmatch(one))

    @property
    def name(self) -> str:
        """What it measures, in a few words: of paths and URLs their ends."""
        scheme, colon, rest = self.source.partition(":")
        source = f"{scheme}{colon}…/{rest.rpartition('/')[2]}" if "/" in rest else self.source
        profile = PurePath(self.profile).stem if self.profile.endswith(".toml") else self.profile
        return " ".join(part for part in (profile, self.flag_set, source) if part)

    @property
    def subject(self) -> tuple[str, str, str]:
        """What cells of several machines share that measure the same."""
        return self.profile, self.flag_set, self.source


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """What came of a cell."""

    cell: str
    """Its id."""
    status: int
    """How its pytest ended, negative where a signal ended it; 17 without a report where its node or it was lost."""
    report: RunReport | None
    started_at: str
    """RFC 3339, UTC, with microseconds, as is the next; by the clock of the node."""
    ended_at: str
    worker: str
    """Who ran it last."""
    said: str
    """The last lines of its output, or why there is none."""

    @property
    def state(self) -> State:
        """DONE, or LOST where no node finished it."""
        return State.LOST if self.status == UNDECIDED and self.report is None else State.DONE

    @property
    def in_vain(self) -> bool:
        """Whether it was given to a box and nothing was measured there."""
        return self.report is None and self.status != 0


def lost(one: Cell, why: str, *, worker: str, started_at: str, ended_at: str) -> CellResult:
    """The result of a cell whose node went away: no answer, never a loss of speed."""
    return CellResult(
        cell=one.id, status=UNDECIDED, report=None, started_at=started_at, ended_at=ended_at, worker=worker, said=why
    )


def _check_option(option: str) -> None:
    """InputError for what is no option of ours, and for what the cell itself says or needs."""
    if _SUITE.fullmatch(option):
        return
    match = _OPTION.fullmatch(option)
    if match is None:
        raise InputError(f"{option!r:.80} is no option of a cell; write --mtp-X, --mtp-X=Y or test_X.py.")
    if match[1] in _OF_THE_CELL:
        raise InputError(f"--{match[1]} is what a cell says itself; give it in the fleet file, not as an option.")
    if match[1] in _OF_THE_FLEET:
        raise InputError(
            f"--{match[1]} is what a cell says itself: its results go to the ledger, and into a history with --history "
            "of `pytest-mtp fleet run`; leave it out."
        )
    if match[1] in _OTHER_STATUS:
        raise InputError(f"--{match[1]} changes what the exit status means, so no cell takes it; leave it out.")


def _digest(one: Cell) -> str:
    told = asdict(one) | {"id": "", "minutes": float(one.minutes)}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]
