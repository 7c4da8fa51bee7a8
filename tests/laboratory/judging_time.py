"""How long judging takes: ``python -m tests.laboratory.judging_time`` for 9 classes x 12 blocks, and ten times that."""

import time

import numpy as np

from pytest_mtp.core.calibration import Calibration
from pytest_mtp.core.judge import judge
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.yardsticks import Yardsticks
from tests.campaigns import campaign


def _campaign(classes: int, blocks: int, seed: int) -> Campaign:
    rng = np.random.default_rng(seed)
    return campaign({f"class{one}": tuple(np.exp(rng.normal(0.4, 0.02, blocks))) for one in range(classes)})


def judging_s(classes: int, blocks: int, times: int = 5) -> float:
    """Seconds to judge a campaign against a baseline of its size; the best of a few."""
    now, then = _campaign(classes, blocks, 1), _campaign(classes, blocks, 2)
    yardsticks = Yardsticks(gate=Gate(), baseline=then, calibration=Calibration(sessions=3))
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        judge(now, yardsticks, now)
        taken.append(time.perf_counter() - began)
    return min(taken)


def main() -> None:
    """Print both times and their ratio."""
    judging_s(2, 2)  # the imports
    small, large = judging_s(9, 12), judging_s(9, 120)
    print(f"9 x 12 blocks: {small:.3f} s; 9 x 120 blocks: {large:.3f} s, {large / small:.1f} times")  # noqa: T201


if __name__ == "__main__":
    main()
