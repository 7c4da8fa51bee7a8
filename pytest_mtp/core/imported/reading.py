"""Values of a file that somebody else's program wrote: of the right kind, or refused by the name of their key."""

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_mtp.errors import InputError

# Beyond these a division would end in infinity: no server is so slow, or counts so far.
_LEAST, _MOST = 1e-6, 1e15


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a file and where it stands: ``results[3]``."""

    values: Mapping[str, object]
    place: str

    def text(self, key: str) -> str:
        """A text with something in it."""
        value = self._present(key)
        if not isinstance(value, str) or not value:
            raise self.refusal(key, "a text")
        return value

    def count(self, key: str, *, least: int = 0) -> int:
        """A whole number."""
        value = self._present(key)
        # A bool is an int to isinstance, and no count.
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _MOST:
            raise self.refusal(key, f"a whole number of {least} or more")
        return value

    def count_or_zero(self, key: str) -> int:
        """A whole number; null is none."""
        return 0 if self._present(key) is None else self.count(key)

    def amount(self, key: str) -> float | None:
        """A time or rate; ``None`` where the file has none: no such key, null, or 0, which nothing takes."""
        value = self.values.get(key)
        if value is None or value == 0:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool) or not _LEAST <= value <= _MOST:
            raise self.refusal(key, "a finite number above 0, or null")
        return float(value)

    def drafts(self, tokens: int) -> tuple[int, int]:
        """Drafted and accepted tokens of an answer that was waited for ``tokens`` of its own."""
        drafted, accepted = self.count_or_zero("draft_n"), self.count_or_zero("draft_n_accepted")
        if accepted > drafted:
            raise self.refusal("draft_n_accepted", f"at most the {drafted} that were drafted")
        if accepted and accepted >= tokens:
            raise self.refusal("draft_n_accepted", f"below the {tokens} tokens that were waited for")
        return drafted, accepted

    def refusal(self, key: str, wanted: str) -> InputError:
        """What this value should be."""
        return InputError(f"{self.place}.{key} is {_shown(self.values[key])}; it must be {wanted}. Mend the file.")

    def _present(self, key: str) -> object:
        if key not in self.values:
            raise InputError(f"{self.place} has no {key!r}; the tool writes one. Give the file as the tool wrote it.")
        return self.values[key]


def rows(document: Mapping[str, object], key: str, place: str = "") -> tuple[Row, ...]:
    """The objects of a list, at least one; ``place`` goes before its key in what is said of them."""
    found = document.get(key)
    if not isinstance(found, list) or not found:
        raise InputError(f"{place}{key} is no list with anything in it; the file holds no measurement.")
    for index, one in enumerate(found):
        if not isinstance(one, Mapping):
            raise InputError(f"{place}{key}[{index}] is {_shown(one)}; it must be an object. Mend the file.")
    return tuple(Row(one, f"{place}{key}[{index}]") for index, one in enumerate(found))


def told(document: Mapping[str, object], keys: Mapping[str, str]) -> dict[str, str]:
    """Facts of the whole file: the values of these keys that are set, by our names for them."""
    return {name: _said(document[key]) for key, name in keys.items() if document.get(key) not in (None, "", {})}


def _said(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={one}" for key, one in sorted(value.items()))
    return str(value)


def _shown(value: object) -> str:
    """As Python writes it, so that nothing in it moves a cursor, and not the whole of it."""
    return ascii(value)[:80]
