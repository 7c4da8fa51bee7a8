"""A profile as text: as TOML that reads back as the same profile, and as a line of a list."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_mtp.core.profile import Profile

Origins = Mapping[tuple[str, ...], str]

_CLASSES = "classes"
_INDENT = "  "


def as_toml(profile: Profile, origins: Origins | None = None) -> str:
    """The whole profile, defaults included; with ``origins`` a comment says where the values below it came from."""
    import msgspec

    return "\n".join(_table(msgspec.to_builtins(profile), (), (), origins)) + "\n"


def listing(profiles: Iterable[tuple[Profile, int | None]], width: int) -> list[str]:
    """Each profile with the bytes of its model (``None``: not known), and what it is for."""
    rows = [("profile", "backend", "model", "made for", "")]
    for profile, size in profiles:
        card = profile.card or "any machine"
        rows.append((profile.name, profile.build.backend.value, _size(size), card, profile.description))
    longest = max(len(row[0]) for row in rows)
    return [line for row in rows for line in _entry(row, longest, width)]


def _entry(row: tuple[str, str, str, str, str], longest: int, width: int) -> Iterator[str]:
    name, backend, size, card, description = row
    yield f"{name:<{longest}} {backend:<7} {size:>7}  {card}".rstrip()
    yield from textwrap.wrap(description, width, initial_indent=_INDENT, subsequent_indent=_INDENT)


def _size(size: int | None) -> str:
    if size is None:
        return "-"
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"  # noqa: PLR2004 - giga


def _table(
    table: Mapping[str, Any], header: tuple[str, ...], place: tuple[str, ...], origins: Origins | None
) -> Iterator[str]:
    """The values, then the tables below; ``place`` is where origins know it, ``header`` how TOML names it."""
    last = None
    for key, value in table.items():
        if value is None or isinstance(value, dict) or key == _CLASSES:
            continue
        origin = None if origins is None else origins.get((*place, key), "default")
        if origin != last:
            yield f"# {' '.join(str(origin).split())}"
            last = origin
        yield _pair(key, value)
    for key, value in table.items():
        if isinstance(value, dict) and value:
            if not all(isinstance(below, dict) for below in value.values()):
                yield from ("", f"[{_dotted((*header, key))}]")
            yield from _table(value, (*header, key), (*place, key), origins)
    for one in table.get(_CLASSES, ()) if not header else ():
        yield from ("", f"[[{_CLASSES}]]")
        yield from _table(one, (_CLASSES,), (_CLASSES, one["name"]), origins)


def _pair(key: str, value: Any) -> str:
    import tomli_w

    # A carriage return does not survive in a string of several lines.
    several = isinstance(value, str) and "\r" not in value
    return tomli_w.dumps({key: value}, multiline_strings=several).rstrip("\n")


def _dotted(keys: tuple[str, ...]) -> str:
    import tomli_w

    return ".".join(tomli_w.dumps({key: 0}).removesuffix(" = 0\n") for key in keys)
