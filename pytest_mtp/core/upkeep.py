"""Which entries of the cache may go: not the last used ones, and a mirror never without its worktrees."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MIRROR = "mirror"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of the cache; times are seconds of the epoch."""

    kind: str
    name: str
    size_bytes: int
    made_s: float
    """When its folder last changed: when it was finished, but for mirrors, which grow."""
    used_s: float | None
    """``None``: a leftover, which was never finished."""
    mirror: str | None = None
    """Of a worktree: the name of the mirror that holds its history."""

    @property
    def place(self) -> str:
        """Where it lies below the cache's root."""
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What may go: neither among the last used of its kind, nor used recently; leftovers go by every rule."""

    keep: int | None = None
    """How many of each kind stay, the last used first; ``None`` counts none."""
    older_than_s: float | None = None
    """What was used within this time stays."""
    kinds: frozenset[str] = frozenset()
    """Empty means all."""


@dataclass(frozen=True, slots=True)
class Removal:
    """What became of an entry that should go."""

    entry: Entry
    refusal: str | None = None
    """Why it stays, as the end of ``it stays: ...``; ``None``: it is gone."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """What is wrong with an entry."""

    entry: Entry
    text: str


def newest_first(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """By kind, the last used first, leftovers last."""
    return tuple(sorted(entries, key=lambda one: (one.kind, -(one.used_s or 0.0), one.name)))


def prunable(entries: Sequence[Entry], rule: Rule, now_s: float) -> tuple[Entry, ...]:
    """Choose what goes, each mirror behind its worktrees; without a number in the rule only leftovers do."""
    chosen = {one.place for kind in {one.kind for one in entries} for one in _unneeded(kind, entries, rule, now_s)}
    gone = {one.name for one in entries if one.kind == MIRROR and one.place in chosen}
    found = [one for one in newest_first(entries) if one.place in chosen or one.mirror in gone]
    return tuple(sorted(found, key=lambda one: one.kind == MIRROR))


def _unneeded(kind: str, entries: Iterable[Entry], rule: Rule, now_s: float) -> tuple[Entry, ...]:
    if rule.kinds and kind not in rule.kinds:
        return ()
    own = [one for one in newest_first(entries) if one.kind == kind]
    leftovers = [one for one in own if one.used_s is None]
    if rule.keep is None and rule.older_than_s is None:
        return tuple(leftovers)
    finished = [one for one in own if one.used_s is not None][rule.keep or 0 :]
    latest_s = now_s - (rule.older_than_s or 0.0)
    return (*leftovers, *(one for one in finished if (one.used_s or 0.0) <= latest_s))
