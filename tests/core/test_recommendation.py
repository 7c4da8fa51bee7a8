"""Which depth a sweep recommends, and when that is proven."""

import math

import pytest

from pytest_mtp.core.recommendation import Recommendation, recommended
from pytest_mtp.core.speedup import Estimate
from tests.campaigns import around


def best(speedups: dict[int, tuple[float, ...]], own: int | None = None) -> Recommendation:
    """Of settings that are named by how much they draft."""
    logs = {str(n_max): Estimate(tuple(map(math.log, blocks))) for n_max, blocks in speedups.items()}
    return recommended(logs, {name: int(name) for name in logs}, 0.05, None if own is None else str(own))


def test_the_fastest_setting_is_taken_and_held_against_the_flag_sets_own() -> None:
    found = best({1: around(0.8, 0.01), 3: around(1.2, 0.01), 8: around(1.8, 0.01)}, own=3)
    assert (found.setting, found.fastest, found.drafts) == ("8", "8", True)
    assert found.over_own is not None
    assert found.over_own.ratio == pytest.approx(1.5)
    assert found.proven
    assert found.proven_over_own


@pytest.mark.parametrize(
    ("smaller", "taken"),
    [
        (around(1.75, 0.05), "3"),
        # Within the margin, and proven slower all the same: every block says so.
        (tuple(1.8 * 0.97 for _ in range(4)), "8"),
        # Not proven slower for want of evidence: noise is no reason to take it.
        (around(1.3, 0.4), "8"),
    ],
)
def test_a_smaller_setting_is_taken_only_where_it_is_as_good(smaller: tuple[float, ...], taken: str) -> None:
    assert best({3: smaller, 8: (1.8,) * 4}).setting == taken


def test_a_smaller_setting_that_loses_is_not_as_good_as_one_that_gains() -> None:
    assert best({1: around(0.99, 0.01), 2: around(1.01, 0.01)}).setting == "2"


def test_of_the_same_depth_the_faster_is_taken() -> None:
    logs = {"3 0": Estimate((math.log(1.5),) * 4), "3 0.75": Estimate((math.log(1.51),) * 4)}
    assert recommended(logs, dict.fromkeys(logs, 3), 0.05).setting == "3 0.75"


def test_where_nothing_gains_no_draft_is_recommended() -> None:
    found = best({1: around(0.9, 0.01), 3: around(0.7, 0.01)})
    assert (found.drafts, found.proven) == (False, True)
    assert str(found).startswith("no setting gains on this machine: the best is 1, 0.90x [")
    assert not best({1: around(0.99, 0.02), 3: around(0.7, 0.01)}).proven


def test_the_more_settings_are_tried_the_more_it_takes_to_prove_the_best() -> None:
    gain = around(1.05, 0.025)
    assert best({3: gain}).proven
    many = best({3: gain, **{n_max: around(0.8, 0.01) for n_max in range(4, 12)}})
    assert not many.proven
    assert many.gain.interval(many.level)[0] < 1
    assert str(many).endswith("; not proven faster than without MTP")


def test_the_interval_that_is_shown_decides() -> None:
    for center in (1.01, 1.02, 1.03, 1.04, 1.05, 1.06):
        found = best({3: around(center, 0.015), 4: around(0.8, 0.01)})
        assert found.proven is (found.gain.interval(found.level)[0] >= 1)


def test_the_flag_sets_own_setting_is_nothing_to_be_faster_than_itself() -> None:
    found = best({3: around(1.5, 0.01), 8: around(1.2, 0.01)}, own=3)
    assert (found.over_own, found.proven_over_own) == (None, True)


def test_one_block_proves_nothing() -> None:
    found = best({3: (1.5,), 8: (1.2,)})
    assert not found.proven
    assert "1.50x;" in str(found)
