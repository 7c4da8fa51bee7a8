from collections.abc import Sequence
from dataclasses import replace

import pytest

from pytest_mtp.core.sample import Campaign, Sample
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.tau import Acceptance, acceptance, first_difference
from tests.campaigns import campaign, sample


def test_tau_counts_tokens_per_step_after_the_free_one() -> None:
    counts = acceptance(campaign({"a": (1.0, 1.0)}, accepted={"a": 64}), "a")
    assert counts is not None
    assert counts.tau == pytest.approx(96 / 32)
    assert counts.share == pytest.approx(0.64)
    assert counts.repeatable


def test_nothing_drafted_has_no_share() -> None:
    counts = acceptance(campaign({"a": (1.0,)}, drafted=0), "a")
    assert counts is not None
    assert counts.share is None
    assert counts.tau == 1.0


def test_no_valid_block_has_no_counts() -> None:
    assert acceptance(campaign({"a": ()}), "a") is None


def answer(
    accepted: int = 64, drafted: int | None = 100, text: str = "", *, tokens: int = 97, places: tuple[int, ...] = ()
) -> Sample:
    """One answer of the mtp arm to class ``a``; ``drafted=None``: the engine does not tell."""
    made = sample("a", Arm.MTP, ms=1.0, accepted=accepted, drafted=drafted or accepted)
    timings = replace(made.timings, draft_n=drafted, predicted_n=tokens)
    return replace(made, timings=timings, text_sha256=text, accepted_per_position=places or None)


def answered(answers: Sequence[Sample], *, drawn: bool = False) -> Campaign:
    """A campaign of one block whose mtp arm gave ``answers``, and whose plain arm gave what is none of our concern."""
    made = campaign({"a": (1.0,), "b": (1.0,)}, flags={"sampled": "true"} if drawn else {})
    (block,) = made.blocks
    told = tuple(replace(one, pair=pair) for pair, one in enumerate(answers))
    other = sample("b", Arm.MTP, ms=1.0, accepted=7, drafted=9)
    starts = tuple(replace(start, samples=(*told, other)) if start.arm is Arm.MTP else start for start in block.starts)
    return replace(made, blocks=(replace(block, starts=starts),))


def test_counts_are_sums_over_the_answers_of_the_class() -> None:
    counts = acceptance(answered([answer(64, 100), answer(30, 60, tokens=41)]), "a")
    assert counts is not None
    assert (counts.tokens, counts.drafted, counts.accepted) == (96 + 40, 160, 94)


@pytest.mark.parametrize(
    ("second", "repeatable"),
    [
        (answer(64, 100), True),
        (answer(64, 100, "another text"), True),  # of counts alone
        (answer(63, 100), False),
        (answer(64, 101), False),
        (answer(64, 100, tokens=98), False),
    ],
)
def test_counts_repeat_when_every_answer_has_the_same(second: Sample, *, repeatable: bool) -> None:
    counts = acceptance(answered([answer(64, 100), second]), "a")
    assert counts is not None
    assert counts.repeatable is repeatable


def test_an_engine_that_leaves_one_answers_drafts_out_tells_none() -> None:
    assert acceptance(answered([answer(), answer(0, None)]), "a") is None


def test_places_are_those_of_the_first_answer() -> None:
    counts = acceptance(answered([answer(places=(3, 2, 1)), answer(places=(3, 3, 0))]), "a")
    silent = acceptance(answered([answer()]), "a")
    assert counts is not None
    assert silent is not None
    assert counts.per_position == (3, 2, 1)
    assert silent.per_position is None
    assert Acceptance(tokens=1, drafted=0, accepted=0, repeatable=True).per_position is None


THEN = [answer(64, 100, "x"), answer(50, 90, "y")]


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (THEN, None),
        ([answer(63, 100, "x"), THEN[1]], "request 1: 63 of 100 drafts accepted, were 64 of 100"),
        ([answer(64, 101, "x"), THEN[1]], "request 1: 64 of 101 drafts accepted, were 64 of 100"),
        ([answer(64, 100, "z"), THEN[1]], "request 1: another text with the same counts"),
        ([answer(63, 100, "z"), THEN[1]], "request 1: 63 of 100 drafts accepted, were 64 of 100"),
        ([THEN[0], answer(51, 90, "y")], "request 2: 51 of 90 drafts accepted, were 50 of 90"),
        ([THEN[0], answer(50, 90, "z")], "request 2: another text with the same counts"),
        ([answer(64, 100, "z"), answer(51, 90, "y")], "request 1: another text with the same counts"),
        (THEN[:1], None),  # what was asked less often is the same as far as it was asked
        ([*THEN, answer(1, 2, "new")], None),
    ],
)
def test_the_first_request_that_differs_is_named(now: list[Sample], said: str | None) -> None:
    assert first_difference(answered(now), answered(THEN), "a") == said


def test_of_answers_drawn_by_chance_no_difference_is_looked_for() -> None:
    other = [answer(1, 2, "z")]
    assert first_difference(answered(other), answered(THEN), "a") is not None
    assert first_difference(answered(other, drawn=True), answered(THEN), "a") is None
