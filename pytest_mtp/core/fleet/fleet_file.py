"""``fleet.toml``: machines, and what each measures; expanded into a manifest.

What stands at the top is for every machine; what a machine says itself takes its place.
"""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any

from pytest_mtp.core.fleet.cell import ALL, CPU, Cell
from pytest_mtp.core.fleet.manifest import MANIFEST_VERSION, Manifest
from pytest_mtp.core.profile import Profile
from pytest_mtp.errors import InputError, SettingsError

MOST_CELLS = 100_000
_MACHINES, _KIND, _MINUTES = "machines", "kind", "minutes"
# It becomes the name of an artifact and of a runner.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")

# A worker of Dask says it in --resources, which is split at commas and =, and has _ for a blank.
_KIND_NAME = re.compile(r"[^,=_\s](?:[^,=_]*[^,=_\s])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is measured; an empty list is what the profile says."""

    profiles: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    flag_sets: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    minutes: float = 60.0
    """The most that one cell may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One machine, or several alike."""

    name: str
    kind: str
    work: Work


def machines_of(document: Mapping[str, Any]) -> tuple[Machine, ...]:
    """The machines of a parsed file; SettingsError names the first key that cannot be."""
    shared = _work(document, Work(), "", (_MACHINES,))
    tables = document.get(_MACHINES, {})
    if not (isinstance(tables, dict) and tables):
        raise SettingsError("it has no machine; add a table such as [machines.desk] with a kind.")
    return tuple(_machine(name, table, shared) for name, table in tables.items())


def manifest_of(machines: Sequence[Machine], profiles: Mapping[str, Profile], created_at: str) -> Manifest:
    """Machines x sources x profiles x flag sets; ``profiles`` holds every profile that a machine names."""
    if sum(_most(one.work, profiles) for one in machines) > MOST_CELLS:
        raise SettingsError(f"it asks for more than {MOST_CELLS} cells; write several files.")
    cells = tuple(cell for one in machines for cell in _cells(one, profiles))
    return Manifest(version=MANIFEST_VERSION, created_at=created_at, cells=cells)


def _machine(name: str, table: Any, shared: Work) -> Machine:
    where = f"machines.{name}"
    if not _NAME.fullmatch(name):
        raise SettingsError(f"{name!r:.80} is no name of a machine; use at most 63 letters, digits, dots and dashes.")
    if not isinstance(table, dict):
        raise SettingsError(f"{where} is no table; write [{where}] and a kind below it.")
    work = _work(table, shared, f"{where}.", (_KIND,))
    kind = table.get(_KIND)
    if not (isinstance(kind, str) and kind):
        raise SettingsError(f'{where} has no kind; give what it has, such as kind = "RTX 3090" or "cpu".')
    if not _KIND_NAME.fullmatch(kind):
        raise SettingsError(f"{where} has the kind {kind!r:.80}; write it without comma, = and _, such as RTX 3090.")
    if kind.lower() == CPU != kind:
        raise SettingsError(f'{where} has the kind {kind}; write kind = "{CPU}" for what needs no card.')
    if not work.profiles:
        raise SettingsError(f"{where} has no profiles; name some there, or at the top for all machines.")
    return Machine(name=name, kind=kind, work=work)


def _work(table: Mapping[str, Any], before: Work, where: str, others: tuple[str, ...]) -> Work:
    """What a table says, in the place of ``before``."""
    known = (*(one.name for one in fields(Work)), *others)
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}."
            raise SettingsError(f"it has the key {where + key!r:.80}, which is none{hint}")
    said = {key: _value(f"{where}{key}", key, value) for key, value in table.items() if key not in others}
    return replace(before, **said)


def _value(where: str, key: str, value: Any) -> Any:
    if key == _MINUTES:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise SettingsError(f"{where} is no number; give the minutes that a cell may take at most.")
        return float(value)
    if not (isinstance(value, list) and all(isinstance(one, str) and one for one in value)):
        raise SettingsError(f'{where} is no list of texts; write one such as {key} = ["a", "b"].')
    if len(set(value)) != len(value):
        raise SettingsError(f"{where} names something twice; leave one out.")
    return tuple(value)


def _most(work: Work, profiles: Mapping[str, Profile]) -> int:
    flag_sets = sum(len(work.flag_sets or profiles[one].measured()) for one in work.profiles)
    return max(1, len(work.sources)) * flag_sets


def _cells(machine: Machine, profiles: Mapping[str, Profile]) -> Iterator[Cell]:
    work = machine.work
    for source, name in product(work.sources or (ALL,), work.profiles):
        for flag_set in work.flag_sets or profiles[name].measured():
            if flag_set not in profiles[name].flag_sets:
                has = ", ".join(profiles[name].flag_sets)
                raise SettingsError(
                    f"machines.{machine.name}: profile {name} has no flag set {flag_set}: it has {has}."
                )
            yield _cell(machine, source, name, flag_set)


def _cell(machine: Machine, source: str, profile: str, flag_set: str) -> Cell:
    work = machine.work
    try:
        return Cell(
            machine=machine.name,
            kind=machine.kind,
            source=source,
            profile=profile,
            flag_set=flag_set,
            options=(*work.suites, *work.options),
            minutes=work.minutes,
        )
    except InputError as error:
        raise SettingsError(f"machines.{machine.name}: {error}") from error
