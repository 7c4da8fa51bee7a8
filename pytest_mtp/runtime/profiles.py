"""Read profiles: shipped by name or from a file, with single values overridden."""

import difflib
import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_mtp.core.profile import Profile
from pytest_mtp.errors import SettingsError

_SHIPPED = Path(__file__).parent.parent / "profiles"
_SCHEMAS = Path(__file__).parent.parent / "schemas"


def shipped() -> tuple[str, ...]:
    """The names of the profiles that come with the package."""
    return tuple(sorted(path.stem for path in _SHIPPED.glob("*.toml")))


def load_profile(name: str, assignments: Sequence[str] = ()) -> Profile:
    """The profile of that name or file with ``KEY=VALUE`` overrides; SettingsError says what is wrong where."""
    document = _read(_locate(name))
    for assignment in assignments:
        _assign(document, assignment)
    _check(document, name)
    return _convert(document, name)


def _locate(name: str) -> Path:
    if name in shipped():
        return _SHIPPED / f"{name}.toml"
    path = Path(name).expanduser()
    if path.is_file():
        return path
    near = difflib.get_close_matches(name, shipped(), n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise SettingsError(f"There is no profile {name!r}: shipped are {', '.join(shipped())}; or name a file.{hint}")


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"Profile {path} cannot be read: {error}.") from error


def _assign(document: dict[str, Any], assignment: str) -> None:
    """Set one value in place; the key's tables must exist, the schema judges the rest."""
    key, equals, text = assignment.partition("=")
    if not equals or not key.strip():
        raise SettingsError(f"--mtp-set takes KEY=VALUE such as server.ctx=32768, not {assignment!r}.")
    *tables, last = key.strip().split(".")
    place = document
    for table in tables:
        place = place.setdefault(table, {}) if isinstance(place, dict) else {}
    if not isinstance(place, dict):
        raise SettingsError(f"--mtp-set {key}: {tables[-1]} is no table of the profile.")
    place[last] = _toml_value(text.strip())


def _toml_value(text: str) -> Any:
    """The value as TOML reads it; what TOML cannot read is a plain word."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _check(document: Mapping[str, Any], name: str) -> None:
    from jsonschema import Draft202012Validator

    schema = json.loads((_SCHEMAS / "profile.json").read_text(encoding="utf-8"))
    errors = sorted(Draft202012Validator(schema).iter_errors(document), key=lambda error: error.json_path)
    if errors:
        raise SettingsError(f"Profile {name}: {_sentence(errors[0])}")


def _sentence(error: Any) -> str:
    """One error of the schema in words, with the nearest right name for a wrong one."""
    where = error.json_path.removeprefix("$").lstrip(".") or "the profile"
    if error.validator != "additionalProperties":
        return f"{where}: {error.message}."
    known = list(error.schema.get("properties", {}))
    unknown = next(key for key in error.instance if key not in known)
    near = difflib.get_close_matches(unknown, known, n=1)
    mend = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known)}."
    return f"{where} has no {unknown!r}; {mend}"


def _convert(document: Mapping[str, Any], name: str) -> Profile:
    import msgspec

    try:
        return msgspec.convert(document, Profile)
    except msgspec.ValidationError as error:
        raise SettingsError(f"Profile {name}: {error}.") from error
