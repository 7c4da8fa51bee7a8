"""The tables of the documentation name all that can be set, with the defaults that it has."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum

from pytest_mtp.core.profile import FlagSet, Gate, MeasureTable, Profile, PromptClass, ServerTable
from pytest_mtp.core.request_table import RequestTable
from pytest_mtp.core.served_tables import BuildTable, ModelTable, PhantomTable, SourceTable
from pytest_mtp.core.suite_table import SuiteTable
from pytest_mtp.runtime.profiles import load_profile
from tests.docs.documented import DOCS

TABLES = {
    "source": SourceTable,
    "build": BuildTable,
    "model": ModelTable,
    "model.phantom": PhantomTable,
    "server": ServerTable,
    "request": RequestTable,
    "measure": MeasureTable,
    "gates": Gate,
    "flag_sets": FlagSet,
    "classes": PromptClass,
}
NAMED = {"flag_sets", "classes"}
"""Of which a profile has several, each with a name."""


def section(file: str, title: str) -> str:
    """The text below a heading, down to the next of its rank."""
    return re.split(r"^## ", (DOCS / file).read_text().partition(f"## {title}\n")[2], flags=re.MULTILINE)[0]


def documented_keys() -> dict[str, object]:
    """Key and default of each row; the default is TOML, or none, and words may follow it."""
    row = re.compile(r"^\| `(suites\.[a-z_.]+)` \|[^|]*\| (?:`([^`]*)`|(none))", re.MULTILINE)
    found = row.findall(section("suites.md", "Every key"))
    return {key: None if none else tomllib.loads(f"it = {text}")["it"] for key, text, none in found}


def keys(table: object, prefix: str = "suites") -> Iterator[tuple[str, object]]:
    for one in fields(table):  # type: ignore[arg-type]  # every table is a dataclass
        value, name = getattr(table, one.name), f"{prefix}.{one.name}"
        if is_dataclass(value):
            yield from keys(value, name)
        else:
            yield name, list(value) if isinstance(value, tuple) else value


def test_every_key_of_the_further_suites_is_in_the_table_with_its_default() -> None:
    assert documented_keys() == dict(keys(SuiteTable()))


def documented_profile() -> dict[str, object]:
    """Key and default of each row of a profile's keys; what must be said has none."""
    row = re.compile(r"^\| `([\w.]+)` \| (?:`([^`]*)`|(none|build's own))? *\|", re.MULTILINE)
    found = row.findall(section("profiles.md", "Every key"))
    return {
        key: tomllib.loads(f"it = {text}")["it"] if text else (None if none else MISSING) for key, text, none in found
    }


def profile_keys(table: object, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Key and default of what a profile may say, as TOML has it."""
    for one in fields(table):  # type: ignore[arg-type]
        below, name = TABLES.get(f"{prefix}{one.name}"), f"{prefix}{one.name}"
        if below is not None:
            yield from profile_keys(below, f"{name}.NAME." if name in NAMED else f"{name}.")
        elif name != "suites":
            yield name, default(one)


def default(one: Field[object]) -> object:
    value = one.default_factory() if one.default_factory is not MISSING else one.default
    value = value.value if isinstance(value, Enum) else value
    return list(value) if isinstance(value, tuple) else value


def test_every_key_of_a_profile_is_in_the_table_with_its_default() -> None:
    assert documented_profile() == dict(profile_keys(Profile))


def test_the_tutorials_numbers_are_those_of_its_profile() -> None:
    row = re.compile(r"\| ([0-9.]+) to ([0-9.]+) \| `(\w+)` \| ([0-9.]+) \|$", re.MULTILINE)
    found = row.findall(section("tutorial.md", "Its numbers"))
    told = {name: (float(low), float(high), float(floor)) for low, high, name, floor in found}
    profile = load_profile("rtx3090-qwen3.6-27b")
    held = {one.name: (one.reference.low, one.reference.high, one.floor) for one in profile.classes if one.reference}
    assert told == {name: held[name] for name in ("greeting", "python_game")}


def test_every_suite_has_a_row_with_the_command_that_asks_it() -> None:
    rows = [line for line in (DOCS / "suites.md").read_text().splitlines() if line.startswith("| `test_")]
    named = {line.split("`")[1] for line in rows}
    suites = {one.name for one in (DOCS.parent / "suites").glob("test_*.py") if "mtp_study" in one.read_text()}
    assert named == suites
    assert all(
        f"pytest --mtp suites/{name}" in line or "pytest-mtp tune" in line
        for name, line in zip((line.split("`")[1] for line in rows), rows, strict=True)
    )
