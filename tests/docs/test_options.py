"""The page of options is what the rows of the options say, and its example is taken by pytest."""

import pytest

from docs.generate import BEGIN, BLOCKS, PAGES, READ_MORE, as_code, options, renewed
from pytest_mtp.option_table import OPTIONS
from pytest_mtp.options import read_settings
from tests.docs.documented import DOCS, fenced


@pytest.mark.parametrize("page", BLOCKS)
def test_what_is_made_of_the_code_is_as_the_code_is(page: str) -> None:
    text = (PAGES / page).read_text(encoding="utf-8")
    assert text == renewed(page, text), "run: python -m docs.generate"


def test_a_page_that_drifted_is_seen_and_one_without_marks_is_refused() -> None:
    text = (PAGES / "options.md").read_text(encoding="utf-8")
    drifted = text.replace("begin no block", "begin a block")
    assert drifted != text
    assert renewed("options.md", drifted) == text
    with pytest.raises(ValueError, match=r"options\.md lacks the marks"):
        renewed("options.md", text.replace(BEGIN, ""))


def test_every_option_has_one_row_with_its_ini_value() -> None:
    rows = [line.split(" | ") for line in options().splitlines() if line.startswith("| `")]
    assert [(row[0].split()[1].strip("`"), row[1].split("`")[1]) for row in rows] == [
        (option.flag, option.key) for option in OPTIONS
    ]
    assert all(len(row) == 3 and "*Default:* " in row[2] for row in rows)


def test_more_is_told_only_of_options_that_are_there() -> None:
    assert set(READ_MORE) <= {option.name for option in OPTIONS}


def test_names_are_written_as_code_once() -> None:
    assert as_code("of --mtp-gpu, ``a`` and `--mtp`") == "of `--mtp-gpu`, `a` and `--mtp`"


def test_the_example_of_an_ini_file_is_taken(pytester: pytest.Pytester) -> None:
    [example] = fenced(DOCS / "options.md", "ini")
    pytester.makeini(example)
    settings = read_settings(pytester.parseconfig("-s", "--mtp"))
    assert settings.profile == "qwen3.6-27b"
    assert settings.assignments == ("server.ctx=32768", "gates.looks=[4,8]")
    assert settings.max_time_s == 2400
    assert settings.strict
