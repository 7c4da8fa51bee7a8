import math

import pytest

from pytest_mtp.core.calibration import calibration
from tests.campaigns import around, campaign


def sessions(*centers: float) -> list:  # type: ignore[type-arg]
    return [campaign({"a": around(center, 0.01), "b": around(1.2, 0.01)}) for center in centers]


def test_five_sessions_say_how_far_they_lie_apart() -> None:
    logs = (-0.02, -0.01, 0.0, 0.01, 0.02)
    found = calibration(sessions(*(2 * math.exp(log) for log in logs)))
    # Class a: variance 0.00025; class b: none. Pooled: their mean.
    assert found.between_sd == pytest.approx(math.sqrt(0.00025 / 2))
    assert str(found) == "tolerance calibrated: 5 sessions differ by 1.1% (sd)"


@pytest.mark.parametrize(("between", "tolerance"), [(0.001, 0.05), (0.03, 0.09), (5.0, 0.99)])
def test_the_tolerance_grows_with_the_spread_of_sessions_and_never_shrinks(between: float, tolerance: float) -> None:
    logs = tuple(between * step for step in (-1.2649, -0.6325, 0.0, 0.6325, 1.2649))  # of variance between²
    found = calibration([campaign({"a": around(2 * math.exp(log), 0.01)}) for log in logs])
    assert found.tolerance(0.05) == pytest.approx(tolerance, rel=1e-3)


def test_fewer_sessions_are_said_and_change_nothing() -> None:
    found = calibration(sessions(2.0, 2.2))
    assert found.tolerance(0.05) == 0.05
    assert str(found) == "tolerance not calibrated (2 of 5 sessions; pytest-mtp calibrate)"
