"""What the next release says of itself can be made at any time."""

import subprocess
import sys
import tomllib

import pytest

from tests.packaging.built import ROOT

TOWNCRIER = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]
KINDS = {one["directory"] for one in TOWNCRIER["type"]}
FRAGMENTS = sorted(
    one for one in (ROOT / "changelog.d").iterdir() if one.name not in {*TOWNCRIER["ignore"], ".gitkeep"}
)


@pytest.fixture(scope="module")
def draft() -> str:
    done = subprocess.run(
        [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9.9"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_fragment_is_of_a_known_kind() -> None:
    named = [one.name.split(".") for one in FRAGMENTS]
    assert [parts for parts in named if len(parts) != 3 or parts[1] not in KINDS or parts[2] != "md"] == []


def test_the_draft_has_every_fragment_under_the_version_to_be(draft: str) -> None:
    assert "## 9.9.9 (" in draft
    first = [one.read_text().splitlines()[0] for one in FRAGMENTS]
    assert [line for line in first if f"- {line}" not in draft] == []


def test_a_release_has_a_place_to_go() -> None:
    assert TOWNCRIER["start_string"] in (ROOT / "CHANGELOG.md").read_text()
