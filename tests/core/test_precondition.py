from dataclasses import replace
from typing import Any

import pytest

from pytest_mtp.core.precondition import complaint, counted
from pytest_mtp.core.request import Answer
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.timings import Timings

_SOUND = Timings(prompt_n=4, prompt_ms=2.0, predicted_n=9, predicted_ms=80.0, draft_n=6, draft_n_accepted=4)


def answer(**changes: Any) -> Answer:
    return Answer("text", replace(_SOUND, **changes), "limit", wall_ms=90.0)


def test_a_sound_answer_counts() -> None:
    assert complaint(answer(), 9, Arm.MTP) is None


@pytest.mark.parametrize(
    ("changes", "arm", "said"),
    [
        ({"predicted_n": 7}, Arm.MTP, "7 tokens came, 9 were asked for"),
        ({"cache_n": 3}, Arm.MTP, "3 prompt tokens came from a cache"),
        ({"predicted_ms": 1e-300}, Arm.MTP, "1e-300 ms for 9 tokens is no measurement"),
        ({}, Arm.PLAIN, "the plain arm drafted 6 tokens"),
        ({"predicted_ms": 91.0}, Arm.MTP, "the server claims 91 ms, 90 ms passed"),
    ],
)
def test_a_broken_precondition_is_named(changes: dict[str, float], arm: Arm, said: str) -> None:
    assert said in str(complaint(answer(**changes), 9, arm))


@pytest.mark.parametrize(
    ("before", "after", "counts"),
    [
        ((5, 3), (9, 4), (4, 1)),
        (None, (4, 1), (4, 1)),  # the counters appear with the first draft
        ((5,), (9, 4), (4, 4)),
        ((5, 3), None, None),  # a build that does not count
    ],
)
def test_cumulative_counters_give_the_counts_of_one_request(
    before: tuple[int, ...] | None, after: tuple[int, ...] | None, counts: tuple[int, ...] | None
) -> None:
    assert counted(before, after) == counts
