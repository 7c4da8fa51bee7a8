"""Is the engine as fast as it was? A ratio of two arms is blind to what slows both."""

from collections.abc import Callable, Mapping

import pytest

from pytest_mtp.core.rate import Rate, RateResult
from pytest_mtp.core.verdict import Verdict


@pytest.mark.parametrize("rate", list(Rate), ids=lambda rate: rate.name.lower())
def test_absolute(rate: Rate, mtp_rates: Mapping[Rate, RateResult], mtp_gate: Callable[[Verdict], None]) -> None:
    if rate not in mtp_rates:
        pytest.skip(f"no {rate.value} is on record to compare with, or it was not timed")
    mtp_gate(mtp_rates[rate].verdict)
