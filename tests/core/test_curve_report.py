import re
from dataclasses import replace
from typing import Any

import pytest

from pytest_mtp.core.curve_report import CURVE_VERSION, compared
from pytest_mtp.errors import InputError
from tests.campaigns import PLAIN_MS, TOKENS
from tests.curves import BENCH, point, report, split

PLAIN_TPS = 1000 * (TOKENS - 1) / PLAIN_MS


def test_the_curve_is_laid_through_its_campaigns() -> None:
    found = report().curve
    assert [one.tau for one in found.points] == pytest.approx([1.0, 2.0, 4.0])
    assert found.break_even.ratio == pytest.approx(2.0)


def test_a_step_is_verifying_drafting_and_the_rest() -> None:
    made = report(point(2.0, 2.0, drafting=0.4))
    parts = made.parts(made.points[0])
    assert parts is not None
    assert (parts.whole, parts.verification, parts.drafting) == pytest.approx((2.0, 1.4, 0.4))
    assert parts.efficiency == pytest.approx(0.9)


def test_repetitions_that_were_disturbed_are_forgotten() -> None:
    batches, single = BENCH
    held_up = replace(batches, samples_ns=(*batches.samples_ns * 2, 10 * batches.samples_ns[0]))
    made = report(bench=(held_up, replace(single, samples_ns=single.samples_ns[:1] * 5)))
    assert made.verification == pytest.approx(1.4)


def test_parts_that_were_not_measured_are_not_made_up() -> None:
    without_bench = report(bench=())
    assert without_bench.parts(without_bench.points[0]) is None
    silent = replace(point(2.0, 2.0), drafting_ms=())
    assert report(silent).parts(silent) is None


def test_a_point_without_a_valid_block_makes_no_curve() -> None:
    empty = replace(point(2.0, 2.0), campaign=replace(point(2.0, 2.0).campaign, blocks=()))
    with pytest.raises(InputError, match="needs a point"):
        report(empty).curve  # noqa: B018 - computed when asked for


def test_the_plain_arm_takes_a_share_of_the_bandwidth() -> None:
    made = report(point(2.0, 2.0, bytes_per_token=10**8, memory_bandwidth=2e10))
    assert made.plain_tps.ratio == pytest.approx(PLAIN_TPS)
    assert made.bandwidth_share == pytest.approx(1e8 * PLAIN_TPS / 2e10)


def test_of_a_memory_measured_several_times_the_best_counts() -> None:
    made = report(point(1.0, 2.0, memory_bandwidth=1e10), point(2.0, 2.0, memory_bandwidth=2e10))
    assert made.bandwidth == 2e10


def test_the_part_that_made_a_step_dearer_is_named() -> None:
    then = report(point(1.0, 2.0), point(2.0, 2.0))
    now = report(point(1.0, 2.2, drafting=0.6), point(2.0, 2.2, drafting=0.6))
    assert compared(now, then) == (
        "A step became dearer by 10.0%, most of it by drafting (verification +0.0%, drafting +10.0%, the rest +0.0%)."
    )
    assert compared(then, then).startswith("A step costs what it did")


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"machine": {"cpu": "another", "cores": "4"}}, "machine (a processor, 2 and another, 4)"),
        ({"n_max": 4}, "drafts in a step (3 and 4)"),
        ({"bench": ()}, "--no-bench"),
    ],
)
def test_curves_that_cannot_be_compared_are_refused(changes: dict[str, Any], cause: str) -> None:
    with pytest.raises(InputError, match=re.escape(cause)):
        compared(report(), report(**changes))


def test_weights_in_two_memories_have_no_share_of_one() -> None:
    whole = point(2.0, 2.0, bytes_per_token=10**8, memory_bandwidth=2e10)
    assert report(split(whole, 40, 65)).bandwidth_share is None
    assert report(split(whole, 65, 65)).bandwidth_share is not None
    assert report(point(2.0, 2.0)).bandwidth_share is None


def test_a_curve_of_a_newer_format_is_refused() -> None:
    with pytest.raises(InputError, match="update pytest-mtp"):
        report(version=CURVE_VERSION + 1)
