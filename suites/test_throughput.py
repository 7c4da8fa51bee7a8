"""How many tokens per second does each arm give? Shown and stored by pytest-benchmark, judged nowhere yet."""

from collections.abc import Callable

import pytest

from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.verdict import ClassResult
from pytest_mtp.replay import CLOCK


@pytest.mark.benchmark(timer=CLOCK)
@pytest.mark.parametrize("arm", list(Arm), ids=lambda arm: arm.value)
def test_throughput(arm: Arm, mtp_result: ClassResult, mtp_replay: Callable[[Arm], int]) -> None:
    assert mtp_replay(arm) == mtp_result.blocks
