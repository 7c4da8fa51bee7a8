import numpy as np
import pytest
from scipy.stats import ttest_1samp

from pytest_mtp.core.power import detectable, power


@pytest.mark.parametrize(("effect", "blocks"), [(0.03, 4), (0.02, 8), (0.015, 12)])
def test_the_power_is_the_share_of_simulated_campaigns_that_find_the_loss(effect: float, blocks: int) -> None:
    rng = np.random.default_rng(1)
    campaigns = rng.normal(-effect, 0.02, size=(20_000, blocks))
    found = ttest_1samp(campaigns, 0.0, axis=1, alternative="less").pvalue < 0.0167
    assert power(effect, 0.02, blocks, 0.0167) == pytest.approx(found.mean(), abs=0.012)


def test_the_detectable_loss_has_the_chance_it_was_asked_for() -> None:
    loss = detectable(0.02, 12, 0.0167, chance=0.8)
    assert loss is not None
    assert power(-np.log(1 - loss), 0.02, 12, 0.0167) == pytest.approx(0.8, abs=1e-3)


def test_more_blocks_find_smaller_losses() -> None:
    four, eight, twelve = (detectable(0.02, blocks, 0.0167) or 0.0 for blocks in (4, 8, 12))
    assert four > eight > twelve > 0.01


def test_one_block_finds_nothing() -> None:
    assert detectable(float("nan"), 1, 0.05) is None


def test_where_blocks_do_not_differ_every_loss_is_found_and_nothing_else() -> None:
    assert detectable(0.0, 4, 0.05) == 0.0
    assert [power(effect, 0.0, 4, 0.05) for effect in (0.01, 0.0, -0.01)] == [1.0, 0.0, 0.0]


def test_a_test_that_hardly_ever_rejects_finds_no_loss_however_large() -> None:
    assert detectable(0.02, 2, 1e-9) is None
