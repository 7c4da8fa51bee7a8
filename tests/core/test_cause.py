"""What an explanation says of a factor that moved, held, or may have done either."""

import math
import re

import pytest

from pytest_mtp.core.cause import CostChange, Shift
from pytest_mtp.core.change import Change
from pytest_mtp.core.factors import Factors
from pytest_mtp.core.speedup import Estimate
from pytest_mtp.core.tau import Acceptance


def _factors(plain_tps: tuple[float, ...]) -> Factors:
    ones = Estimate((0.0,) * len(plain_tps))
    return Factors(
        acceptance=Acceptance(tokens=63, drafted=60, accepted=42, repeatable=True),
        speedup=ones,
        step_cost=ones,
        plain_tps=Estimate(tuple(math.log(one) for one in plain_tps)),
        mtp_tps=ones,
        prompt_tps=Estimate(()),
    )


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ((100.0, 101.0, 99.0, 100.0), "plain arm unchanged"),
        ((80.0, 81.0, 79.0, 80.0), r"plain arm 20\.0% slower \[.*\]"),
        ((80.0, 110.0, 70.0, 120.0), r"plain arm -7\.\d% \[-\d\d\.\d, \+\d\d\.\d\], within the noise"),
        ((80.0,), "plain arm untold by so few blocks"),
    ],
)
def test_a_wide_interval_around_no_change_is_not_called_unchanged(now: tuple[float, ...], said: str) -> None:
    then, after = _factors((100.0, 101.0, 99.0, 100.0)), _factors(now)
    cost = CostChange(change=Change(then.step_cost, after.step_cost), pooled=False)
    assert pytest.approx(1.0) == Shift(now=after, then=then, cost=cost).tau
    assert re.search(f"; {said}$", str(Shift(now=after, then=then, cost=cost)))
