"""How profiles that extend each other become one: which value wins, and which file it came from.

Tables merge, classes meet by name, lists and values are replaced. ``unset`` takes away what is inherited, so that a
profile can drop a floor that holds on another card only. ``name`` and ``description`` are each profile's own, since
baselines are stored under the name.
"""

import difflib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pytest_mtp.errors import SettingsError

EXTENDS, UNSET = "extends", "unset"
OWN = ("name", "description")
_CLASSES = "classes"
_EVERY = "*"
_DEEPEST = 16
_HINTED = 20
# What is said of a model's file holds for that file alone.
_FACTS = ("sha256", "size")

Place: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One file of a chain, or one value set on the command line; ``str()`` begins a sentence about it."""

    label: str
    document: Mapping[str, Any]
    path: Place = ()
    """What an override sets, and therefore replaces; a file has none."""

    def __str__(self) -> str:
        return f"The {self.label}" if self.path else f"Profile {self.label}"


@dataclass(frozen=True, slots=True)
class Merged:
    """What the layers say together."""

    document: dict[str, Any]
    origins: dict[Place, str]
    """The label of each value's layer; a class is found under its name."""
    unmatched: tuple[str, ...]
    """A sentence for each ``unset`` that takes nothing away."""


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A value that is replaced, not merged."""

    value: Any
    label: str


_Tree: TypeAlias = dict[str, Any]


def override(assignment: str) -> Layer:
    """The layer of one ``KEY=VALUE``; what TOML cannot read is a plain word. A class goes by its name."""
    if not _can_be_written(assignment):
        raise SettingsError(f"The override {assignment!a:.200} holds half a character; write it whole.")
    key, equals, text = assignment.partition("=")
    path = tuple(part.strip() for part in key.split("."))
    if not equals or not all(path):
        raise SettingsError(f"An override takes KEY=VALUE such as server.ctx=32768, not {assignment!r:.200}.")
    if len(path) > _DEEPEST:
        raise SettingsError(f"The override {assignment!r:.80} is nested too deep: no profile has tables like these.")
    if path == (EXTENDS,):
        raise SettingsError("An override cannot change what a profile extends: choose another profile.")
    document: Any = _toml_value(text.strip())
    for part in reversed(path):
        document = {part: document}
    return Layer(label=f"override {assignment}", document=_with_list_of_classes(document), path=path)


def merge(layers: Sequence[Layer]) -> Merged:
    """One document of all layers, the later ones above; never raises, whatever the layers hold."""
    tree: _Tree = {}
    unmatched: list[str] = []
    for layer in layers:
        unmatched.extend(_unmatched(tree, layer))
        inherited = _prepared(tree, layer)
        tree = _laid_over(inherited, _statements(layer.document, inherited), layer.label)
    document = {key: _plain(value) for key, value in tree.items()}
    if isinstance(document.get(_CLASSES), dict):
        document[_CLASSES] = list(document[_CLASSES].values())
    return Merged(document, dict(_origins(tree)), tuple(unmatched))


def _prepared(tree: _Tree, layer: Layer) -> _Tree:
    """What ``layer`` inherits: without names, without what it takes away, without facts of another model."""
    for path in (*_unset(layer), *([layer.path] if layer.path else [(name,) for name in OWN])):
        tree = _cleared(tree, path)
    if _names_another_model(tree, layer):
        for fact in _FACTS:
            tree = _cleared(tree, ("model", fact))
    return tree


def _names_another_model(tree: _Tree, layer: Layer) -> bool:
    below, above = tree.get("model"), layer.document.get("model")
    if not isinstance(below, dict) or not isinstance(above, Mapping) or "spec" not in above:
        return False
    spec = below.get("spec")
    return not isinstance(spec, _Leaf) or spec.value != above["spec"]


def _unset(layer: Layer) -> list[Place]:
    names = layer.document.get(UNSET)
    if not isinstance(names, list):
        return []  # the schema says so, in a sentence
    return [tuple(name.split(".")) for name in names if isinstance(name, str)]


def _unmatched(tree: _Tree, layer: Layer) -> Iterator[str]:
    hints = iter(range(_HINTED))  # finding the nearest of many names takes long
    for path in _unset(layer):
        if _without(tree, path) is None:
            name = ".".join(path)
            known = [".".join(one) for one in _paths(tree)] if next(hints, None) is not None else []
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            yield f"{layer}: unset names {name!r}, which is not inherited{hint}"


def _cleared(tree: _Tree, path: Place) -> _Tree:
    less = _without(tree, path)
    return tree if less is None else less


def _without(tree: _Tree, path: Sequence[str]) -> _Tree | None:
    """The tree without what ``path`` names; ``None`` when it names nothing."""
    first, *rest = path
    keys = [key for key in tree if first in (key, _EVERY)]
    if not rest:
        return {key: value for key, value in tree.items() if key not in keys} if keys else None
    branches = {key: _without(tree[key], rest) for key in keys if isinstance(tree[key], dict)}
    changed = {key: branch for key, branch in branches.items() if branch is not None}
    return {**tree, **changed} if changed else None


def _laid_over(below: _Tree, above: Mapping[str, Any], label: str) -> _Tree:
    merged = dict(below)
    for key, value in above.items():
        inherited = below.get(key)
        if isinstance(value, Mapping):
            merged[key] = _laid_over(inherited if isinstance(inherited, dict) else {}, value, label)
        else:
            merged[key] = _Leaf(value, label)
    return merged


def _statements(document: Mapping[str, Any], inherited: _Tree) -> dict[str, Any]:
    """What the document says of the profile, with its classes as a table where they are what they should be."""
    said = {key: value for key, value in document.items() if key not in (EXTENDS, UNSET)}
    classes, known = said.get(_CLASSES), inherited.get(_CLASSES)
    if isinstance(classes, list) and all(_has_name(one) for one in classes):
        # The name that finds an inherited class does not change where that class came from.
        known = known if isinstance(known, dict) else {}
        said[_CLASSES] = {
            one["name"]: {key: one[key] for key in one if key != "name" or one["name"] not in known} for one in classes
        }
    return said


def _has_name(one: Any) -> bool:
    return isinstance(one, Mapping) and isinstance(one.get("name"), str)


def _with_list_of_classes(document: dict[str, Any]) -> dict[str, Any]:
    classes = document.get(_CLASSES)
    if not isinstance(classes, dict) or not all(isinstance(one, dict) for one in classes.values()):
        return document
    return {_CLASSES: [{"name": name, **one} for name, one in classes.items()]}


def _plain(branch: Any) -> Any:
    return branch.value if isinstance(branch, _Leaf) else {key: _plain(value) for key, value in branch.items()}


def _origins(tree: _Tree, above: Place = ()) -> Iterator[tuple[Place, str]]:
    for key, branch in tree.items():
        if isinstance(branch, _Leaf):
            yield (*above, key), branch.label
        else:
            yield from _origins(branch, (*above, key))


def _paths(tree: _Tree, above: Place = ()) -> Iterator[Place]:
    """Everything that can be unset."""
    for key, branch in tree.items():
        yield (*above, key)
        if isinstance(branch, dict):
            yield from _paths(branch, (*above, key))


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    except (ValueError, RecursionError) as error:
        why = "is nested too deep" if isinstance(error, RecursionError) else "holds a number too long"
        raise SettingsError(f"A value of an override {why} to be read.") from error


def _can_be_written(text: str) -> bool:
    """Whether it is made of whole characters, which what the shell gives need not be."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)
