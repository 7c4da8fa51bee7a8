"""What lies in the cache, what went, and what is wrong in it, as text."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from pytest_mtp.core.amount import amount
from pytest_mtp.core.upkeep import Entry, Flaw, Removal, newest_first

_HEADER = ("kind", "name", "size", "made", "last used")
_COLUMN = 10
"""Of a size, and of a day."""
_UNFINISHED = "unfinished"
_GAPS = 4
_END = 17
"""Of a name too long for its column this stays, which is its hash."""
_SHORTEST = _END + 4


def table(entries: Sequence[Entry], place: str, width: int) -> list[str]:
    """One line per entry, by kind and the last used first, and their sum; days are UTC's."""
    if not entries:
        return [f"The cache {place} holds nothing."]
    kinds = max(len(one.kind) for one in entries)
    names = max(_SHORTEST, width - kinds - 3 * _COLUMN - _GAPS)
    rows = [_HEADER, *(_row(one) for one in newest_first(entries))]
    lines = [
        f"{kind:<{kinds}} {_cut(name, names):<{names}} {size:>{_COLUMN}} {made:<{_COLUMN}} {used}".rstrip()
        for kind, name, size, made, used in rows
    ]
    total = amount(sum(one.size_bytes for one in entries))
    return [*lines, f"{_count(len(entries))} in {place}: {total}"]


def removals(results: Iterable[Removal], *, dry_run: bool) -> Iterator[str]:
    """A line per entry as it goes, or why it stays, and their sum."""
    gone: list[Entry] = []
    stayed = 0
    for one in results:
        if one.refusal is None:
            gone.append(one.entry)
            yield f"{'would remove' if dry_run else 'removed'} {one.entry.place} ({amount(one.entry.size_bytes)})"
        else:
            stayed += 1
            yield f"{one.entry.place} stays: {one.refusal}"
    verb = "Would remove" if dry_run else "Removed"
    stay = f"; {stayed} in use or not removable" if stayed else ""
    yield f"{verb} {_count(len(gone))}, {amount(sum(one.size_bytes for one in gone))}{stay}."


def findings(flaws: Iterable[Flaw], place: str) -> Iterator[str]:
    """Each thing that is wrong, with its mend."""
    for one in flaws:
        folder = f"{place}/{one.entry.place}"
        yield f"{one.entry.place}: {one.text.rstrip('.')}. Remove the folder {folder}; it is made anew when needed."


def _row(entry: Entry) -> tuple[str, str, str, str, str]:
    used = _UNFINISHED if entry.used_s is None else _day(entry.used_s)
    return entry.kind, entry.name, amount(entry.size_bytes), _day(entry.made_s), used


def _day(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).date().isoformat()


def _cut(name: str, width: int) -> str:
    """Leave the middle of a long name out: its end tells entries apart."""
    return name if len(name) <= width else f"{name[: width - _END - 2]}..{name[-_END:]}"


def _count(number: int) -> str:
    return f"{number} entr{'y' if number == 1 else 'ies'}"
