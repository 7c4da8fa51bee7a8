"""What goes from the cache, and what stays."""

import pytest

from pytest_mtp.core.upkeep import Entry, Rule, newest_first, prunable

DAY = 86400.0
NOW = 100 * DAY


def entry(place: str, days_ago: float | None = 0.0, mirror: str | None = None) -> Entry:
    kind, name = place.split("/")
    used_s = None if days_ago is None else NOW - days_ago * DAY
    return Entry(kind=kind, name=name, size_bytes=1, made_s=0.0, used_s=used_s, mirror=mirror)


CACHE = (
    entry("build/b", 20), entry("build/c", 30), entry("build/a", 1), entry("build/x", None),
    entry("source/t", 40), entry("source/u", 2),
)  # fmt: skip


def gone(rule: Rule, entries: tuple[Entry, ...] = CACHE) -> set[str]:
    return {one.place for one in prunable(entries, rule, NOW)}


@pytest.mark.parametrize(
    ("rule", "places"),
    [
        (Rule(), {"build/x"}),
        (Rule(keep=1), {"build/b", "build/c", "build/x", "source/t"}),
        (Rule(keep=2), {"build/c", "build/x"}),
        (Rule(keep=0), {one.place for one in CACHE}),
        (Rule(older_than_s=25 * DAY), {"build/c", "build/x", "source/t"}),
        (Rule(older_than_s=20 * DAY), {"build/b", "build/c", "build/x", "source/t"}),
        (Rule(keep=1, older_than_s=25 * DAY), {"build/c", "build/x", "source/t"}),
        (Rule(keep=2, older_than_s=0.0), {"build/c", "build/x"}),
        (Rule(keep=0, kinds=frozenset({"source"})), {"source/t", "source/u"}),
    ],
)
def test_what_goes_is_neither_recent_nor_among_the_last_used(rule: Rule, places: set[str]) -> None:
    assert gone(rule) == places


def test_a_mirror_goes_behind_its_worktrees_and_never_without_them() -> None:
    cache = (
        entry("mirror/old", 9), entry("mirror/new", 1),
        entry("source/1", 9, "old"), entry("source/2", 0, "old"), entry("source/3", 1, "new"), entry("source/4", 2),
    )  # fmt: skip
    rule = Rule(keep=1, kinds=frozenset({"mirror"}))
    assert [one.place for one in prunable(cache, rule, NOW)] == ["source/2", "source/1", "mirror/old"]


def test_worktrees_go_without_their_mirror() -> None:
    cache = (entry("mirror/m", 9), entry("source/1", 9, "m"))
    assert gone(Rule(keep=0, kinds=frozenset({"source"})), cache) == {"source/1"}


def test_the_last_used_comes_first_and_a_leftover_last() -> None:
    assert [one.place for one in newest_first(CACHE)][:4] == ["build/a", "build/b", "build/c", "build/x"]
