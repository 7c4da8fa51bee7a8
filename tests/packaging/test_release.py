"""The workflow that publishes is one that its forge takes, and its linter finds nothing in it."""

import sys
from pathlib import Path

import yaml  # type: ignore[import-untyped]

from tests.docs.test_workflows import checked
from tests.packaging.built import ROOT

WORKFLOW = ROOT / ".github/workflows/release.yml"
SCRIPTS = Path(sys.executable).parent


def test_it_is_of_the_forge_s_schema() -> None:
    told = checked(SCRIPTS / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", WORKFLOW)
    assert "ok -- " in told


def test_the_linter_finds_nothing() -> None:
    assert "No findings" in checked(SCRIPTS / "zizmor", "--offline", "--no-progress", WORKFLOW)


def test_only_what_publishes_may_ask_for_the_right_to() -> None:
    told = yaml.safe_load(WORKFLOW.read_text())
    rights = {name: job["permissions"] for name, job in told["jobs"].items()}
    assert (told["permissions"], rights) == ({}, {"build": {"contents": "read"}, "publish": {"id-token": "write"}})
