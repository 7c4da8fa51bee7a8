"""Demands on the further suites that no measurement could be held against are refused, each with its key."""

import math
from dataclasses import replace

import pytest

from pytest_mtp.core.suite_table import (
    ContextTable,
    DraftDepthTable,
    LatencyTable,
    OtherSpeculationTable,
    ParallelTable,
    SuiteTable,
)
from pytest_mtp.errors import SettingsError

SOUND = SuiteTable()


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"pairs": 0}, r"^suites\.pairs is 0; it must be at least 1\.$"),
        ({"looks": ()}, r"^suites\.looks are growing numbers of blocks, the first at least 2"),
        ({"looks": (1, 2)}, r"^suites\.looks "),
        ({"looks": (6, 3)}, r"^suites\.looks "),
        ({"looks": (3, 3)}, r"^suites\.looks "),
        ({"parallel": ParallelTable(floor=0.0)}, r"suites\.parallel\.floor"),
        ({"parallel": ParallelTable(drafts=math.inf)}, r"suites\.parallel\.drafts"),
        ({"latency": LatencyTable(gap=math.nan)}, r"suites\.latency\.gap"),
        ({"latency": LatencyTable(prompt_tokens=-1)}, r"^suites\.latency\.prompt_tokens is a number of tokens"),
        ({"context": ContextTable(depths=(0, 512))}, r"^suites\.context\.depths and suites\.draft_depth\.n_max are"),
        ({"draft_depth": DraftDepthTable(n_max=(0,))}, r"^suites\.context\.depths and suites\.draft_depth\.n_max are"),
        ({"context": ContextTable(depths=(512,))}, r"^suites\.context\.depths are at least two, each another"),
        ({"context": ContextTable(depths=(512, 512))}, r"^suites\.context\.depths are at least two, each another"),
        ({"draft_depth": DraftDepthTable(p_min=(0.5, 1.1))}, r"^suites\.draft_depth\.p_min are probabilities"),
        ({"draft_depth": DraftDepthTable(p_min=(-0.1,))}, r"^suites\.draft_depth\.p_min are probabilities"),
    ],
)
def test_a_demand_that_nothing_can_be_held_against_is_refused(changes: dict[str, object], cause: str) -> None:
    with pytest.raises(SettingsError, match=cause):
        replace(SOUND, **changes)  # type: ignore[arg-type]  # one field of any type


@pytest.mark.parametrize(
    "changes",
    [
        {"pairs": 1},
        {"looks": (2,)},
        {"latency": LatencyTable(prompt_tokens=0)},
        {"context": ContextTable(depths=(1, 2))},
        {"draft_depth": DraftDepthTable(n_max=(1,), p_min=(0.0, 1.0))},
    ],
)
def test_the_least_that_means_something_is_taken(changes: dict[str, object]) -> None:
    changed = replace(SOUND, **changes)  # type: ignore[arg-type]  # one field of any type
    assert {name: getattr(changed, name) for name in changes} == changes


def test_an_answer_needs_two_tokens_to_have_a_rate() -> None:
    assert OtherSpeculationTable(tokens=2).tokens == 2
    with pytest.raises(SettingsError, match=r"^suites\.other_speculation\.tokens is 1; it must be at least 2\.$"):
        OtherSpeculationTable(tokens=1)
