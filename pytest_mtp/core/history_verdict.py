"""What a history says: where the level of a series changed, and whether the newest run lies where it should."""

from dataclasses import dataclass

from pytest_mtp.core.history import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement:
    """A change that somebody looked at: an entry of ``acknowledged.toml``."""

    series: str
    """A key as it is written, or one with ``*`` for a part: ``phantom/n3/*/speedup``."""
    run: str
    """The first run of the new level."""
    reason: str
    who: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelChange:
    """A change point: from this run on the series is at another level."""

    key: Key
    run: str
    """The first run of the new level."""
    at: str
    build: str
    last_run: str
    """The last run of the old level."""
    last_build: str
    before: float
    after: float
    """Mean of each level, up to the next change."""
    p: float
    runs_after: int
    loss: bool
    acknowledged: Acknowledgement | None = None

    @property
    def change(self) -> float:
        """After over before, less one."""
        return self.after / self.before - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Surprise:
    """The newest value of a series outside of where the values before it say that it should be."""

    key: Key
    run: str
    at: str
    build: str
    value: float
    low: float
    high: float
    """Prediction interval of one more value of the segment."""
    mean: float
    """Of the values before it, in the unit of the series."""
    loss: bool
    recurs: bool
    """Whether the value before it was outside, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryVerdict:
    """What all series say together about the newest run."""

    run: str
    changes: tuple[LevelChange, ...] = ()
    """Of the whole history, oldest first."""
    surprises: tuple[Surprise, ...] = ()
    reasons: tuple[str, ...] = ()
    """Why it is red: one sentence for each loss that nobody acknowledged; empty: not red."""
    notices: tuple[str, ...] = ()
    """What a reader should know and no loss is: too few runs, new circumstances, acknowledgements of nothing."""

    @property
    def red(self) -> bool:
        """Whether a loss is proven by the history."""
        return bool(self.reasons)
