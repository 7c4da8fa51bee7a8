"""Amounts of bytes as people read them."""

import pytest

from pytest_mtp.core.amount import advance, amount


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (999_999, "1000 kB"),
        (1_500_000, "1.50 MB"),
        (16_998_723_232, "17.00 GB"),
        (2_500_000_000_000, "2.50 TB"),
        (3_000_000_000_000_000, "3000.00 TB"),
    ],
)
def test_an_amount_is_decimal_with_two_digits_from_megabytes_on(size: int, text: str) -> None:
    assert amount(size) == text


def test_an_advance_is_share_total_and_rate() -> None:
    assert advance("x", 3_000_000_000, 12_000_000_000, 30.0) == "x: 25 % of 12.00 GB, 100.00 MB/s"


def test_an_advance_without_total_or_time_says_what_it_knows() -> None:
    assert advance("x", 3_000_000, None, 0.0) == "x: 3.00 MB"
