import math

import numpy as np
import pytest
from scipy.stats import ttest_ind

from pytest_mtp.core.change import Change, homogeneous, pooled
from pytest_mtp.core.speedup import Estimate


def estimate(rng: np.random.Generator, center: float, blocks: int, sd: float = 0.02) -> Estimate:
    return Estimate(tuple(float(value) for value in rng.normal(math.log(center), sd, blocks)))


def test_the_interval_is_welchs() -> None:
    rng = np.random.default_rng(1)
    then, now = estimate(rng, 2.0, 12), estimate(rng, 1.8, 6, sd=0.05)
    expected = ttest_ind(now.logs, then.logs, equal_var=False).confidence_interval(0.9)
    assert np.log(Change(then, now).interval(0.9)) == pytest.approx([expected.low, expected.high])


@pytest.mark.parametrize(("limit", "alternative"), [(0.95, "less"), (0.85, "greater")])
def test_a_limit_is_tested_as_welch_does(limit: float, alternative: str) -> None:
    rng = np.random.default_rng(4)
    then, now = estimate(rng, 2.0, 12), estimate(rng, 1.8, 6, sd=0.05)
    expected = ttest_ind(np.array(now.logs) - math.log(limit), then.logs, equal_var=False, alternative=alternative)
    change = Change(then, now)
    p = change.p_below(limit) if alternative == "less" else change.p_above(limit)
    assert p == pytest.approx(expected.pvalue)


def test_the_ratio_is_now_over_then() -> None:
    assert Change(Estimate((math.log(2.0),)), Estimate((math.log(1.5),))).ratio == pytest.approx(0.75)


def test_one_block_leaves_everything_open() -> None:
    change = Change(Estimate((0.1,)), Estimate((0.2, 0.3)))
    assert change.interval(0.95) == (0.0, math.inf)
    assert not change.moved(0.95)


def test_blocks_are_pooled_across_classes_block_by_block() -> None:
    assert pooled([Estimate((0.0, 1.0)), Estimate((0.2, 1.2))]).logs == pytest.approx((0.1, 1.1))


def changes(rng: np.random.Generator, losses: list[float]) -> list[Change]:
    """Classes that share a strong block effect, as real ones do, and have a small noise of their own."""

    def side(factors: list[float], blocks: int) -> list[Estimate]:
        common = rng.normal(0, 0.03, blocks)
        return [
            Estimate(tuple(float(x) for x in math.log(one) + common + rng.normal(0, 0.005, blocks))) for one in factors
        ]

    return [Change(a, b) for a, b in zip(side([1.0] * len(losses), 12), side(losses, 8), strict=True)]


def test_one_change_of_all_classes_is_homogeneous_as_often_as_promised() -> None:
    rng = np.random.default_rng(2)
    kept = [homogeneous(changes(rng, [0.9] * 6)) for _ in range(600)]
    assert np.mean(kept) == pytest.approx(0.95, abs=0.03)


def test_a_class_that_changed_alone_is_found_under_a_common_block_effect() -> None:
    rng = np.random.default_rng(3)
    found = [not homogeneous(changes(rng, [0.98, 1.0, 1.0, 1.0, 1.0, 1.0])) for _ in range(100)]
    assert np.mean(found) > 0.95
