"""The faults in reserve are the ones that the planted code asks for."""

import re

import pytest

from tests.laboratory.faults import FAULTY, Fault

PLANTED = "".join(edit.new for edit in FAULTY.edits)


def test_the_code_asks_for_every_fault_by_its_name_and_for_no_other() -> None:
    assert set(re.findall(r'common_planted\("([a-z-]+)"', PLANTED)) == {fault.value for fault in Fault}


@pytest.mark.parametrize(("number", "words"), [(None, "cliff"), (3, "cliff:3"), (0, "cliff:0")])
def test_a_fault_is_switched_on_by_the_environment(number: int | None, words: str) -> None:
    assert Fault.CLIFF.on(number) == {"GGML_PLANTED": words}


def test_the_variable_is_the_one_that_the_code_reads() -> None:
    assert {f'std::getenv("{name}")' for name in Fault.TEXT.on()} == set(re.findall(r"std::getenv\(.*?\)", PLANTED))


def test_an_edit_adds_to_what_is_there() -> None:
    assert all(word in edit.new for edit in FAULTY.edits for word in edit.old.split())
