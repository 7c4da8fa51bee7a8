"""The counts of every engine, brought to one definition of a step."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtp.core.engine_answer.drafts import Drafts, Verified, drafts_of, no_drafts
from pytest_mtp.errors import MeasureError

# 22 tokens, steps accepting 3 1 0 2 3 1 0 2 3 of 3 drafts: the last step makes one token and 3 that nobody gets.
BEYOND = Verified(steps=9, drafted=27, accepted=15, n_max=3)


def test_drafts_beyond_the_last_token_are_no_tokens_of_the_answer() -> None:
    assert drafts_of(22, BEYOND) == Drafts(steps=9, drafted=27, accepted=12)


def test_drafts_that_are_not_told_follow_from_the_steps() -> None:
    assert drafts_of(22, Verified(steps=9, drafted=27)).accepted == 12


def test_a_step_without_a_draft_is_a_step() -> None:
    assert drafts_of(22, Verified(steps=4, drafted=12, accepted=8)) == Drafts(steps=13, drafted=12, accepted=8)


def test_a_server_that_does_not_speculate_takes_a_step_for_every_token() -> None:
    assert no_drafts(22) == Drafts(steps=21, drafted=0, accepted=0)


@pytest.mark.parametrize(
    ("counted", "cause"),
    [
        (Verified(steps=22, drafted=66, accepted=0), r"22 steps of verifying were counted for 22 tokens"),
        (Verified(steps=9, drafted=27, accepted=16, n_max=3), r"4 too many for the one step at the end, which takes 3"),
        (Verified(steps=9, drafted=3, accepted=5), r"5 accepted drafts were counted of 3"),
    ],
)
def test_counts_that_cannot_be_of_this_answer_are_refused(counted: Verified, cause: str) -> None:
    with pytest.raises(MeasureError, match=cause):
        drafts_of(22, counted)


@given(st.integers(1, 6), st.lists(st.integers(0, 6), min_size=1, max_size=30), st.integers(0, 6))
def test_steps_are_found_whatever_was_accepted(n_max: int, accepts: list[int], spare: int) -> None:
    accepted = [min(one, n_max) for one in accepts]
    dropped = min(spare, accepted[-1])
    tokens = 1 + len(accepted) + sum(accepted) - dropped
    found = drafts_of(
        tokens, Verified(steps=len(accepted), drafted=n_max * len(accepted), accepted=sum(accepted), n_max=n_max)
    )
    assert (found.steps, found.accepted) == (len(accepted), sum(accepted) - dropped)
