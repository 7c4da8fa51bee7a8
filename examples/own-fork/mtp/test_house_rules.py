"""What this fork promises its users, beside what the suites of pytest-mtp ask."""

from collections.abc import Mapping

import pytest

from pytest_mtp.core.case import Case
from pytest_mtp.core.rate import Rate, RateResult
from pytest_mtp.core.verdict import ClassResult

PROMISED_TOKENS_PER_STEP = {"miss00": 3.5, "miss20": 2.5}
"""Of a draft of three at most: four is all that can be had."""

LEAST_PLAIN_SPEED = 0.8
"""Of what is on record."""


def test_tokens_per_step_are_as_promised(mtp_case: Case, mtp_result: ClassResult) -> None:
    """A count, and the same in every run: no interval is needed, and no baseline."""
    if mtp_result.acceptance is None:
        pytest.skip("the drafts of this class were not counted")
    assert mtp_result.acceptance.tau >= PROMISED_TOKENS_PER_STEP[mtp_case.prompt_class]


def test_drafting_costs_those_nothing_who_do_not_draft(mtp_rates: Mapping[Rate, RateResult]) -> None:
    """The plain arm may not pay for work on drafts: red where even the upper end of the interval is a loss."""
    if Rate.PLAIN not in mtp_rates:
        pytest.skip("no plain speed is on record for this machine")
    assert mtp_rates[Rate.PLAIN].high > LEAST_PLAIN_SPEED
