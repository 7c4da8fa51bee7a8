"""Show measured times to pytest-benchmark through its public interface: a clock that the replay advances.

pytest-benchmark then prints and stores them; it is not the gate (it knows no interval and no pairs).
"""

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.speedup import throughput


class _ReplayClock:
    """A timer whose time is what the server reported."""

    __name__ = "llama_server_timings"  # pytest-benchmark writes the timer's name into its JSON

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


CLOCK = _ReplayClock()


def seconds_per_token(campaign: Campaign, arm: Arm, prompt_class: str) -> tuple[float, ...]:
    """One value per valid block, so that pytest-benchmark's rounds are blocks and its OPS tokens per second."""
    return tuple(math.exp(-log_tps) for log_tps in throughput(campaign, arm, prompt_class).logs)


def raw(campaign: Campaign, arm: Arm, prompt_class: str) -> list[dict[str, Any]]:
    """The server's timings of every request, for ``extra_info``."""
    return [asdict(sample.timings) for sample in campaign.samples(arm, prompt_class)]


def play(benchmark: Any, seconds: tuple[float, ...], *, group: str) -> None:
    """Let one benchmark see these durations as its rounds."""
    benchmark.group = group
    waiting = _advance(seconds)
    benchmark.pedantic(lambda: next(waiting), rounds=len(seconds))


def _advance(seconds: tuple[float, ...]) -> Iterator[float]:
    for one in seconds:
        CLOCK.now_s += one
        yield one
