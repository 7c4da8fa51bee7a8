"""The tables of the documentation name all that can be set, with the defaults that it has."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

from pytest_mtp.core.suite_table import SuiteTable
from pytest_mtp.option_table import OPTIONS

DOCS = Path(__file__).parents[2] / "docs"
SWITCHES = {"--mtp", "--mtp-gpu"}
"""Which say whether anything is measured, and are no rows of OPTIONS."""


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


def test_every_option_has_a_row_and_no_row_is_of_an_option_that_is_gone() -> None:
    rows = "\n".join(line for line in section("reference.md", "Options").splitlines() if line.startswith("| `--mtp"))
    assert set(re.findall(r"--mtp[a-z-]*", rows)) == {option.flag for option in OPTIONS} | SWITCHES


def test_every_suite_has_a_row_with_the_command_that_asks_it() -> None:
    rows = [line for line in (DOCS / "suites.md").read_text().splitlines() if line.startswith("| `test_")]
    named = {line.split("`")[1] for line in rows}
    suites = {one.name for one in (DOCS.parent / "suites").glob("test_*.py") if "mtp_study" in one.read_text()}
    assert named == suites
    assert all(
        f"pytest --mtp suites/{name}" in line or "pytest-mtp tune" in line
        for name, line in zip((line.split("`")[1] for line in rows), rows, strict=True)
    )


def test_every_link_between_the_pages_leads_somewhere() -> None:
    pages = (*DOCS.glob("*.md"), DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md")
    links = [(page, link) for page in pages for link in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text())]
    assert [f"{page.name}: {link}" for page, link in links if not leads(page, link)] == []


def leads(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    if not target.exists() or not anchor:
        return target.exists()
    titles = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
    return anchor in {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
