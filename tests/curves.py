"""Cost curves made of numbers, for tests of what is computed from them."""

from dataclasses import replace
from typing import Any

from pytest_mtp.core.curve_report import CURVE_VERSION, CurveReport, MeasuredPoint
from pytest_mtp.core.llama_bench import BenchTest
from pytest_mtp.core.sample import Campaign
from tests.campaigns import PLAIN_MS, TOKENS, around, campaign

CLASS = "a"
PLAIN_STEP_MS = PLAIN_MS / (TOKENS - 1)
# A batch of 4 at 1.4 times the price of a token.
BENCH = (
    BenchTest(n_prompt=64, n_gen=0, n_batch=4, n_threads=2, samples_ns=(16 * 14_000, 16 * 14_000)),
    BenchTest(n_prompt=0, n_gen=64, n_batch=4, n_threads=2, samples_ns=(64 * 10_000, 64 * 10_000)),
)


def point(tau: float, cost: float, drafting: float = 0.4, **changes: Any) -> MeasuredPoint:
    """Four blocks at ``tau`` tokens per step, each step at ``cost`` plain ones, ``drafting`` of them for the head."""
    accepted = round((TOKENS - 1) * (1 - 1 / tau))
    made = campaign({CLASS: around(tau / cost, 0.01)}, accepted={CLASS: accepted}, **changes)
    named = replace(made, flag_set=f"tau-{tau:.2f}")
    return MeasuredPoint(rates=(), campaign=named, drafting_ms=(drafting * PLAIN_STEP_MS,) * 4)


def report(*points: MeasuredPoint, bench: tuple[BenchTest, ...] = BENCH, **changes: object) -> CurveReport:
    """A curve of these points; of a step of 2 plain ones where none are given."""
    values: dict[str, object] = {
        "version": CURVE_VERSION,
        "created_at": "2026-01-01T00:00:00+00:00",
        "tool": "t",
        "profile": "p",
        "flag_set": "n3",
        "prompt_class": CLASS,
        "n_max": 3,
        "machine": {"cpu": "a processor", "cores": "2"},
        "points": points or (point(1.0, 2.0), point(2.0, 2.0), point(4.0, 2.0)),
        "bench": bench,
    }
    return CurveReport(**(values | changes))  # type: ignore[arg-type]  # a test may say anything


def split(measured: MeasuredPoint, placed: int, there: int) -> MeasuredPoint:
    """The point with some of its layers on a card."""
    return replace(measured, campaign=_split(measured.campaign, (placed, there)))


def _split(made: Campaign, offloaded: tuple[int, int]) -> Campaign:
    blocks = (
        replace(block, starts=tuple(replace(start, offloaded=offloaded) for start in block.starts))
        for block in made.blocks
    )
    return replace(made, blocks=tuple(blocks))
