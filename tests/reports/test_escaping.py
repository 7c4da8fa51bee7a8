"""Somebody's words are words, whatever reads them."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtp.reports.escaping import for_log, for_markdown, one_line
from tests.hostile import STARTS, WORDS


@given(st.text())
def test_one_line_is_one_line_of_letters(text: str) -> None:
    shown = one_line(text)
    assert len(shown.splitlines()) <= 1
    assert not {unicodedata.category(letter) for letter in shown} & {"Cc", "Cs", "Zl", "Zp"}


def test_an_ordinary_name_stays_as_it_is() -> None:
    for name in ("miss00", "n3", "code-long", "b11434", "RTX 3090, 24 GB: 350 W", "-13.0%", "1.28x", "3.94 → 3.94"):
        assert for_markdown(name) == one_line(name) == for_log(name) == name


def test_what_is_too_long_is_cut_and_shows_it() -> None:
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("abcd", 4) == "abcd"


def test_no_markup_is_left_in_markdown() -> None:
    shown = for_markdown(WORDS, longest=10_000)
    assert not set("<>`\n\r\x1b\u202e") & set(shown)
    for trick in ("@everyone", "https://", "www.evil", "#12", "&#64;", "$x$", "~~", "**"):
        assert trick not in shown
    assert not re.search(r"(?<!\\)[|\[\]*_~]", shown)


@pytest.mark.parametrize("text", STARTS)
def test_no_block_starts_in_an_item_of_a_list(text: str) -> None:
    shown = for_markdown(text)
    assert shown.startswith(("\\", "&gt;", "code")) or shown.lstrip("0123456789").startswith("\\")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x", ": :error::x"),
        ("  ::error::x", "  : :error::x"),
        ("\r\n::error::x", "  : :error::x"),
        ("a ##[error]x", "a ## [error]x"),
        ("a::b", "a::b"),
    ],
)
def test_no_line_of_a_log_is_a_command(text: str, shown: str) -> None:
    assert for_log(text) == shown
