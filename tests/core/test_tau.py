import pytest

from pytest_mtp.core.tau import acceptance
from tests.campaigns import campaign


def test_tau_counts_tokens_per_step_after_the_free_one() -> None:
    counts = acceptance(campaign({"a": (1.0, 1.0)}, accepted={"a": 64}), "a")
    assert counts is not None
    assert counts.tau == pytest.approx(96 / 32)
    assert counts.share == pytest.approx(0.64)
    assert counts.repeatable


def test_nothing_drafted_has_no_share() -> None:
    counts = acceptance(campaign({"a": (1.0,)}, drafted=0), "a")
    assert counts is not None
    assert counts.share is None
    assert counts.tau == 1.0


def test_no_valid_block_has_no_counts() -> None:
    assert acceptance(campaign({"a": ()}), "a") is None
