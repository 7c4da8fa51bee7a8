"""What this repository demands of MTP, beside what the suites that ship ask. Change it: it is yours."""

from collections.abc import Callable, Mapping

import pytest

from pytest_mtp.core.profile import Profile
from pytest_mtp.core.rate import Rate, RateResult
from pytest_mtp.core.verdict import ClassResult, Verdict

LEAST_TOKENS_PER_STEP = 1.2
"""Of every class: below it, drafting is work for nothing whatever the machine."""


def test_drafts_are_worth_their_work(mtp_result: ClassResult) -> None:
    """Ask it of each prompt class: ``mtp_result`` is one class of one flag set, measured and judged."""
    counts = mtp_result.acceptance
    if counts is None:
        pytest.skip("the drafts of this class were not counted")
    assert counts.tau >= LEAST_TOKENS_PER_STEP


def test_no_class_waits_for_ever(mtp_result: ClassResult, mtp_profile: Profile) -> None:
    """Numbers are at hand as they are in the table: here, that a whole answer comes in time."""
    if mtp_result.mtp_tps is None:
        pytest.skip("this class was not measured")
    assert mtp_profile.request.tokens / mtp_result.mtp_tps < mtp_profile.request.timeout_s


def test_the_mtp_arm_is_as_fast_as_recorded(
    mtp_rates: Mapping[Rate, RateResult], mtp_gate: Callable[[Verdict], None]
) -> None:
    """Leave a verdict to ``mtp_gate``: it knows what is a loss, and what is no answer and must not be red."""
    if Rate.MTP not in mtp_rates:
        pytest.skip("nothing is on record yet: give --mtp-update-baselines=new once")
    mtp_gate(mtp_rates[Rate.MTP].verdict)
