"""The words of a surprise."""

import pytest

from pytest_mtp.core.history import Key, Metric
from pytest_mtp.core.history_verdict import Surprise
from pytest_mtp.reports.surprise import surprising


@pytest.mark.parametrize(
    ("metric", "values", "said"),
    [
        (Metric.SPEEDUP, (2.0, 2.2, 2.1, 1.5), "is 1.5x, expected 2x to 2.2x by its level of 2.1x; a loss"),
        (
            Metric.MTP_TPS,
            (200.0, 220.0, 210.0, 150.0),
            "is 150 tok/s, expected 200 tok/s to 220 tok/s by its level of 210 tok/s; a loss",
        ),
    ],
)
def test_the_level_is_told_in_the_unit_of_the_series(
    metric: Metric, values: tuple[float, float, float, float], said: str
) -> None:
    low, high, level, value = values
    one = Surprise(
        key=Key("p", "n3", "code", metric.value), run="r", at="", build="b1", value=value, low=low, high=high,
        mean=level, loss=True, recurs=False,
    )  # fmt: skip
    assert surprising(one) == said
