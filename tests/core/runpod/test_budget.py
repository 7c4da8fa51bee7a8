"""What a rented card may cost: hours times price, and nothing above the limit."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtp.core.runpod.budget import MOST_HOURS, Budget, affordable, cost_lines, usd
from pytest_mtp.core.runpod.offer import Cloud, Offer
from pytest_mtp.errors import SettingsError

CHEAP, DEAR = Offer("cheap", 0.5), Offer("dear", 2.0)


def budget(limit_usd: float = 2.0, hours: float = 2.0, disk_gb: int = 0) -> Budget:
    return Budget(limit_usd=limit_usd, hours=hours, disk_gb=disk_gb)


@pytest.mark.parametrize(("limit", "allowed"), [(1.0, True), (0.99, False), (1.5, True)])
def test_the_limit_itself_may_be_spent_and_no_more(limit: float, *, allowed: bool) -> None:
    assert budget(limit_usd=limit).allows(0.5) is allowed


def test_disks_count() -> None:
    assert budget(disk_gb=730).most_usd(0.5) == pytest.approx(1.0 + 0.1 * 2)
    assert not budget(limit_usd=1.1, disk_gb=730).allows(0.5)


def test_a_price_that_is_no_number_is_not_allowed() -> None:
    assert not budget().allows(math.nan)
    assert not budget().allows(math.inf)


@pytest.mark.parametrize("limit", [0.0, -1.0, math.nan, math.inf])
def test_a_limit_is_an_amount(limit: float) -> None:
    with pytest.raises(SettingsError, match=r"--limit .* is no amount"):
        budget(limit_usd=limit)


@pytest.mark.parametrize("hours", [0.0, -2.0, MOST_HOURS + 1, math.nan, math.inf])
def test_hours_are_few_and_some(hours: float) -> None:
    with pytest.raises(SettingsError, match=r"--hours .* is none of"):
        budget(hours=hours)


def test_what_is_too_dear_is_left_out() -> None:
    assert affordable([DEAR, CHEAP], budget()) == (CHEAP,)


@given(
    limit=st.floats(0.05, 20),
    hours=st.floats(0.25, MOST_HOURS),
    price=st.floats(0.05, 5),
    disk_gb=st.integers(1, 1000),
)
def test_the_hours_that_a_refusal_names_fit(limit: float, hours: float, price: float, disk_gb: int) -> None:
    asked = Budget(limit_usd=limit, hours=hours, disk_gb=disk_gb)
    try:
        affordable([Offer("it", price)], asked)
    except SettingsError as error:
        _, named, rest = str(error).partition("--hours ")
        if named:
            fitting = Budget(limit_usd=limit, hours=float(rest.split()[0]), disk_gb=disk_gb)
            assert fitting.allows(price)
    else:
        assert asked.most_usd(price) <= limit


def test_the_cost_is_said_with_its_terms_and_its_most() -> None:
    lines = cost_lines([CHEAP, Offer("other", 0.75)], budget(disk_gb=730), Cloud.COMMUNITY)
    assert lines[0] == "1. cheap, community cloud: 0.500 USD/h x 2 h = 1.00 USD"
    assert lines[1] == "2. other, community cloud: 0.750 USD/h x 2 h = 1.50 USD"
    assert lines[3].startswith("At most 1.70 USD, of a limit of 2.00 USD.")


@pytest.mark.parametrize(
    ("amount", "said"), [(0.0, "0.00 USD"), (0.001, "less than 0.01 USD"), (0.005, "0.01 USD"), (12.3, "12.30 USD")]
)
def test_an_amount_is_read_in_cents(amount: float, said: str) -> None:
    assert usd(amount) == said
