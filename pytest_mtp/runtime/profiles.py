"""Read profiles: shipped by name or from a file, with those that they extend, and single values overridden."""

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mtp.core.inheritance import EXTENDS, Layer, Merged, merge, override
from pytest_mtp.core.profile_text import toml_tables
from pytest_mtp.errors import SettingsError
from pytest_mtp.runtime.store import content_of

if TYPE_CHECKING:
    from pytest_mtp.core.profile import Profile

_SHIPPED = Path(__file__).parent.parent / "profiles"
_SCHEMAS = Path(__file__).parent.parent / "schemas"
_MOST_BYTES = 2**18
"""Fifty times the longest profile that ships; what TOML needs to be read grows faster than its length."""
_TOLD_AT_ONCE = 20
_SHOWN = 400


@dataclass(frozen=True, slots=True)
class Effective:
    """A profile as it will be measured."""

    profile: "Profile"
    origins: Mapping[tuple[str, ...], str]
    """The file or override that each value came from; what is not here is a default."""


def shipped() -> tuple[str, ...]:
    """The names of the profiles that come with the package."""
    return tuple(sorted(path.stem for path in _SHIPPED.glob("*.toml")))


def load_profile(name: str, assignments: Sequence[str] = ()) -> "Profile":
    """The profile of that name or file with ``KEY=VALUE`` overrides; SettingsError says what is wrong where."""
    return effective(name, assignments).profile


def effective(name: str, assignments: Sequence[str] = ()) -> Effective:
    """The profile and where its values came from; one SettingsError tells every problem, a line each."""
    from pytest_mtp.core.profile_schema import converted
    from pytest_mtp.core.prompt_library import with_library
    from pytest_mtp.runtime.prompts import library

    layers = (*_chain(name), *map(override, assignments))
    try:
        merged = merge(layers)
        found = _problems(name, layers, merged)
    except RecursionError as error:
        raise SettingsError(f"Profile {name}: its tables are nested too deep to be read.") from error
    if found:
        raise SettingsError(_told(found))
    try:
        return Effective(with_library(converted(merged.document), library()), merged.origins)
    except SettingsError as error:
        raise SettingsError(f"Profile {name}: {_told(str(error).splitlines())}") from error


def _told(found: Sequence[str]) -> str:
    """The first of many problems, and the beginning of a long one: a file may be wrong in every line."""
    lines = [one if len(one) <= _SHOWN else f"{one[:_SHOWN]} ..." for one in found[:_TOLD_AT_ONCE]]
    more = len(found) - len(lines)
    return "\n".join([*lines, *([f"And {more} more problems like these."] if more else [])])


def _problems(name: str, layers: Sequence[Layer], merged: Merged) -> list[str]:
    """Each layer's own, named by its file; then what only all of them together show."""
    from pytest_mtp.core.profile_schema import named_twice, part, problems, value_problems

    schema = json.loads((_SCHEMAS / "profile.json").read_text(encoding="utf-8"))
    own = [
        (layer, sentence)
        for layer in layers
        for sentence in (*problems(layer.document, part(schema)), *named_twice(layer.document))
    ]
    said = {sentence for _, sentence in own}
    whole = [one for one in (*problems(merged.document, schema), *value_problems(merged.document)) if one not in said]
    return [*(f"{layer}: {one}" for layer, one in own), *merged.unmatched, *(f"Profile {name}: {one}" for one in whole)]


def _chain(name: str) -> tuple[Layer, ...]:
    """The files that make a profile, the one that extends nothing first."""
    layers: list[Layer] = []
    paths: list[Path] = []
    path = _locate(name, Path())
    while True:
        document = _read(path)
        layers.append(Layer(label=_label(path), document=document))
        paths.append(path.resolve())
        base = document.get(EXTENDS)
        if not isinstance(base, str):
            return tuple(reversed(layers))
        path = _locate(base, path.parent, layers[-1])
        if path.resolve() in paths:
            around = " -> ".join([*(layer.label for layer in layers), _label(path)])
            raise SettingsError(f"{layers[0]} extends itself: {around}. One of these must extend another profile.")


def _locate(name: str, folder: Path, asking: Layer | None = None) -> Path:
    if name in shipped():
        return _SHIPPED / f"{name}.toml"
    try:
        path = folder / Path(name).expanduser()
        if path.is_file():
            return path
    except (OSError, RuntimeError) as error:  # no right to look, or no such home folder
        why = error.strerror if isinstance(error, OSError) else "its home folder is not there"
        raise SettingsError(f"Profile {name} cannot be read: {why}. Name another file.") from error
    near = difflib.get_close_matches(name, shipped(), n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    asked = f"{asking} extends {name!r}, but there" if asking else "There"
    raise SettingsError(f"{asked} is no profile {name!r}: shipped are {', '.join(shipped())}; or name a file.{hint}")


def _label(path: Path) -> str:
    return path.name if path.parent == _SHIPPED else str(path)


def _read(path: Path) -> dict[str, Any]:
    try:
        return toml_tables(content_of(path, _MOST_BYTES))
    except (OSError, ValueError, RecursionError) as error:  # TOMLDecodeError is a ValueError, as a number too long is
        raise SettingsError(f"Profile {path} cannot be read: {error!s:.{_SHOWN}}.") from error
