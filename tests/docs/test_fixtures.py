"""The page of fixtures names all that a suite of one's own may ask for, and its example does what it says."""

import re

import pytest

from docs.generate import public_fixtures
from pytest_mtp import fixtures
from pytest_mtp.collection import PARAMETERS
from tests.docs.documented import DOCS, fenced

NAMES = [name for name in vars(fixtures) if name.startswith("mtp_")]


def test_every_fixture_has_its_section_with_scope_and_cost() -> None:
    sections = re.split(r"^### ", public_fixtures(), flags=re.MULTILINE)[1:]
    assert [one.splitlines()[0] for one in sections] == NAMES
    assert [one.splitlines()[0] for one in sections if "\nScope: " not in one] == []


def test_every_fixture_is_offered_by_the_plugin(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess("--fixtures")
    offered = re.findall(r"^(mtp_\w+)", result.stdout.str(), re.MULTILINE)
    assert set(offered) == set(NAMES)


def test_what_a_test_is_repeated_for_is_in_the_table() -> None:
    text = (DOCS / "fixtures.md").read_text()
    assert re.findall(r"^\| `(mtp_\w+)` \|", text, re.MULTILINE) == list(PARAMETERS)


def test_the_example_adds_its_cmake_option(pytester: pytest.Pytester) -> None:
    [example] = fenced(DOCS / "fixtures.md", "python")
    pytester.makeconftest(example)
    pytester.makepyfile("""
        def test_it(mtp_build_spec):
            assert ("GGML_CUDA_FORCE_MMQ", "ON") in mtp_build_spec.options
    """)
    name = "test_the_example_adds_its_cmake_option.py"
    pytester.runpytest_inprocess("--mtp", name).assert_outcomes(passed=1)
