"""The table of verdicts in design.md, row by row."""

import pytest

from pytest_mtp.core.verdict import ClassResult, Limit, Outcome, Verdict, Yardstick

GREEN, RED, SKIPPED, UNTOLD = "green", "red", "skipped with 17", "skipped and forgotten"
TABLE = [
    (Outcome.PASS, GREEN),
    (Outcome.IMPROVED, GREEN),
    (Outcome.REGRESSION, RED),
    (Outcome.NOT_EXERCISED, RED),
    (Outcome.ERROR, RED),
    (Outcome.INCONCLUSIVE, SKIPPED),
    (Outcome.NO_BASELINE, SKIPPED),
    (Outcome.INVALID, SKIPPED),
    (Outcome.NOT_TOLD, UNTOLD),
]


@pytest.mark.parametrize(("outcome", "test"), TABLE)
def test_every_outcome_does_one_thing_to_its_test(outcome: Outcome, test: str) -> None:
    found = {GREEN: outcome.passes, RED: outcome.fails, SKIPPED: outcome.open}
    assert found == {one: one == test for one in found}
    assert outcome.blameless is (test in {GREEN, UNTOLD})


def test_the_table_leaves_no_outcome_out() -> None:
    assert {outcome for outcome, _ in TABLE} == set(Outcome)


def test_a_loss_is_what_is_proven_and_an_error_proves_nothing() -> None:
    assert {one for one in Outcome if one.lost} == {Outcome.REGRESSION, Outcome.NOT_EXERCISED}


def test_outcomes_are_stored_by_their_names() -> None:
    assert [one.value for one in Outcome] == [one.name for one in Outcome]
    assert [one.value for one in Yardstick] == ["baseline", "floor"]


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (Limit(speedup=1.5, yardstick=Yardstick.FLOOR), "the floor 1.50x"),
        (
            Limit(speedup=1.87, yardstick=Yardstick.BASELINE, baseline=2.0, tolerance=0.065),
            "1.87x (baseline 2.00x less 6.5%)",
        ),
        (Limit(speedup=2.0, yardstick=Yardstick.BASELINE, baseline=2.0), "2.00x (baseline 2.00x less 0.0%)"),
    ],
)
def test_a_limit_says_where_it_comes_from(limit: Limit, said: str) -> None:
    assert str(limit) == said


def test_what_was_not_measured_is_absent_and_not_a_number() -> None:
    """A report tells ``None`` from 0 and from an empty text; only the blocks are counted."""
    verdict = Verdict(outcome=Outcome.INVALID, reason="too few")
    result = ClassResult(flag_set="n3", prompt_class="a", speed=verdict, drafts=verdict)
    told = {name: getattr(result, name) for name in ClassResult.__slots__}
    assert {name for name, value in told.items() if value is not None} == {
        *("flag_set", "prompt_class", "speed", "drafts", "blocks")
    }
    assert result.blocks == 0
    assert verdict.cause is None
