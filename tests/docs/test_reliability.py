"""The table of faults: every row names the tests that inject it, and all of them are there."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reliability.md"
MOST_ELSEWHERE = 5
"""Rows that cannot be injected here, and say how they were tried."""

_CELL = re.compile(r"(?<!\\)\|")
_TEST = re.compile(r"(tests/[\w/]+\.py)?::(\w+)")


@dataclass(frozen=True, slots=True)
class Row:
    """One fault."""

    fault: str
    promise: str
    shown_by: str


def rows() -> Iterator[Row]:
    inside = False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        inside = line.startswith("|") and (inside or line.startswith("| fault |"))
        if inside and not line.startswith(("| fault |", "| ---")):
            yield Row(*(cell.strip() for cell in _CELL.split(line)[1:-1]))


def named_in(row: Row) -> list[tuple[str, str]]:
    """File and name of each test; a name without a file is of the file before it."""
    found, file = [], ""
    for named, test in _TEST.findall(row.shown_by):
        file = named or file
        found.append((file, test))
    return found


@pytest.mark.parametrize("row", list(rows()), ids=lambda row: re.sub(r"\W+", "-", row.fault)[:60])
def test_a_row_names_tests_that_are_there(row: Row) -> None:
    assert row.fault
    assert row.promise
    named = named_in(row)
    assert named or "not here" in row.shown_by
    for file, test in named:
        assert re.search(rf"^ *(async )?def {test}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


def test_few_rows_are_shown_elsewhere_alone() -> None:
    assert sum(not named_in(row) for row in rows()) <= MOST_ELSEWHERE
