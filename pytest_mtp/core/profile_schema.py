"""Whether a document is a profile: every problem in words, with the nearest right name for a wrong one."""

import difflib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, get_type_hints

from pytest_mtp.core.inheritance import EXTENDS, OWN, UNSET
from pytest_mtp.core.profile import Profile, PromptClass
from pytest_mtp.errors import SettingsError

_CLASSES = "classes"
_MOST = 100
"""Problems that are looked for; who has mended those looks again."""


def part(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of one file: what it leaves out may be inherited, and it may extend and unset."""
    definitions = {name: {**one, "required": []} for name, one in schema["$defs"].items()}
    definitions["PromptClass"]["required"] = ["name"]  # classes meet by name
    definitions["Profile"]["properties"] = {
        **definitions["Profile"]["properties"],
        EXTENDS: {"type": "string"},
        UNSET: {"type": "array", "items": {"type": "string"}},
    }
    return {**schema, "$defs": definitions}


def problems(document: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """What of the document the schema refuses, in the order of its places; empty when it is sound."""
    from jsonschema import Draft202012Validator, validators

    # JSON knows one kind of number, so 512.0 would be an integer to it; TOML and the profile know two.
    strict = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    extend: Any = validators.extend  # which has no types
    validator = extend(Draft202012Validator, type_checker=strict)(schema)
    errors = sorted(islice(validator.iter_errors(document), _MOST), key=lambda error: error.json_path)
    return list(islice((sentence for error in errors for sentence in _sentences(error, document)), _MOST))


def named_twice(document: Mapping[str, Any]) -> list[str]:
    """Merging by name would silently drop the first of two classes of one file."""
    counted = Counter(name for name in _class_names(document) if name)
    return [f"it names a prompt class twice: {name}." for name, count in counted.items() if count > 1]


def value_problems(document: Mapping[str, Any]) -> list[str]:
    """What single values cannot be, each table and class tried on its own so that none hides another's."""
    import msgspec

    # TOML knows nan and inf; no value of a profile can be one, and every comparison with nan is false.
    found = [f"{place} is {value}; it must be a number that can be reached." for place, value in _endless(document)]
    for kind, value in _pieces(document):
        try:
            msgspec.convert(value, kind)
        except SettingsError as error:
            found.append(str(error))
        except msgspec.ValidationError:
            pass  # of the wrong type, which the schema has said in better words
    return found


def converted(document: Mapping[str, Any]) -> Profile:
    """The profile that a checked document holds; SettingsError says what it cannot be as a whole."""
    import msgspec

    try:
        return msgspec.convert(document, Profile)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{error}.") from error


def _pieces(document: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    hints = get_type_hints(Profile)
    yield from ((hints[key], value) for key, value in document.items() if key in hints and key != _CLASSES)
    yield from ((PromptClass, one) for one in _classes(document))


def _endless(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str, float]]:
    """Every nan and infinity with its place."""
    if isinstance(value, float) and not math.isfinite(value):
        yield ".".join(map(str, place)), value
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _endless(inner, (*place, key))


def _classes(document: Mapping[str, Any]) -> list[Any]:
    classes = document.get(_CLASSES)
    return classes if isinstance(classes, list) else []


def _class_names(document: Mapping[str, Any]) -> list[str | None]:
    """The name of each class; ``None`` for what is no class or has none."""
    names = [one.get("name") if isinstance(one, dict) else None for one in _classes(document)]
    return [name if isinstance(name, str) else None for name in names]


def _sentences(error: Any, document: Mapping[str, Any]) -> Iterator[str]:
    where = _where(error.absolute_path, document)
    if error.validator == "additionalProperties":
        yield from _unknown_keys(error, where)
    elif error.validator == "required":
        yield _lacking(error, where, document)
    elif error.validator == "anyOf" and isinstance(error.instance, dict):
        # A table that may be left out: what is wrong is inside it.
        inner = [one for one in error.context if one.validator != "type"]
        yield from (sentence for one in inner for sentence in _sentences(one, document))
    else:
        yield f"{where}{_refused(error)}"


def _unknown_keys(error: Any, where: str) -> Iterator[str]:
    known = list(error.schema.get("properties", {}))
    for key in error.instance:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            mend = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known)}."
            yield f"{where} has no {key!r}; {mend}"


def _lacking(error: Any, where: str, document: Mapping[str, Any]) -> str:
    key = next(key for key in error.schema["required"] if f"{key!r} is" in error.message)
    if not error.absolute_path and key in OWN:
        return f"{where} has no {key!r}; a profile has its own and inherits none."
    name = where.removeprefix(f"{_CLASSES}.")
    others = [other for other in _class_names(document) if other and other != name]
    near = difflib.get_close_matches(name, others, n=1) if name != where else []
    return f"{where} has no {key!r}" + (f"; did you mean the class {near[0]!r}?" if near else ".")


def _refused(error: Any) -> str:
    if isinstance(error.instance, dict):
        return " is no table of the profile."
    if error.validator == "anyOf":
        kinds = [one.get("type", "object") for one in error.schema["anyOf"] if one.get("type") != "null"]
        return f": {error.instance!r} is not of type {' or '.join(map(repr, kinds))}."
    return f": {error.message}."


def _where(place: Iterable[str | int], document: Mapping[str, Any]) -> str:
    """The place as a person writes it: ``classes.greeting.floor``."""
    words: list[str] = []
    for step in place:
        if isinstance(step, str):
            words.append(step)
        elif words == [_CLASSES] and (name := _class_names(document)[step]):
            words.append(name)
        else:
            words[-1] += f"[{step}]"
    return ".".join(words) or "the profile"
