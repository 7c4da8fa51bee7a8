"""The decision in small: the tables of docs/decision.md come from the same functions with 2,000 campaigns a cell."""

import pytest

from tests.laboratory.cells import CELLS, covered, decisions
from tests.laboratory.simulation import Decision

CAMPAIGNS = 60


def made(name: str) -> list[dict[str, Decision]]:
    cell = next(one for one in CELLS if one.name == name)
    return [decisions(cell, campaign) for campaign in range(CAMPAIGNS)]


def red(found: list[dict[str, Decision]], rule: str) -> int:
    return sum(bool(one[rule].red) for one in found)


def test_an_unchanged_engine_is_never_red_and_mostly_green() -> None:
    found = made("unchanged, sd 2.0%")
    assert red(found, "this gate") == 0
    assert sum(one["this gate"].green for one in found) >= 0.95 * CAMPAIGNS
    # Requests of one start are no independent witnesses: who takes them for such is red by chance.
    assert red(found, "Mann-Whitney") > 0.2 * CAMPAIGNS


def test_with_every_class_at_its_limit_red_is_rare() -> None:
    assert red(made("every class at the limit, sd 2.0%"), "this gate") <= 0.1 * CAMPAIGNS


def test_a_loss_in_one_class_is_found_and_in_that_class_alone() -> None:
    found = made("one class -8%, sd 2.0%")
    assert sum(one["this gate"].red == {"class3"} for one in found) >= 0.8 * CAMPAIGNS


@pytest.mark.parametrize("blocks", [4, 8, 12])
def test_an_interval_holds_the_truth_as_often_as_it_says(blocks: int) -> None:
    held = sum(covered(0.02, campaign)[f"{blocks} blocks"] for campaign in range(300))
    # 96.7 % of 300 are 290, give or take 3.
    assert 280 <= held <= 299
