"""Studies: what their campaigns say, held against bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from pytest_mtp.core.profile import Gate
from pytest_mtp.core.sample import ArmFailure, Campaign, Stage, Start
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.study import Bound, Study, Suite, Variant
from pytest_mtp.core.study_judge import _EVIDENCE, enough, judged_study
from pytest_mtp.core.verdict import Outcome
from tests.campaigns import around, campaign

_GATE = Gate(looks=(3, 6))


def _depths(deep: Sequence[float], accepted: int = 60) -> Campaign:
    shallow = around(1.5, 0.01, 3)
    return campaign({"a@512": shallow, "a@4104": deep}, accepted={"a@512": 60, "a@4104": accepted})


def _context(deep: Sequence[float], accepted: int = 60, bounds: Mapping[str, Bound] | None = None) -> Study:
    told = {"speedup": Bound(limit=0.7), "drafts": Bound(limit=0.75)} if bounds is None else bounds
    return Study(
        suite=Suite.CONTEXT,
        flag_set="n3",
        subject="",
        first="at 512",
        second="deep",
        variants=(Variant(name="depths", campaign=_depths(deep, accepted)),),
        bounds=told,
        gate=_GATE,
    )


def test_a_speedup_that_stays_after_a_long_prompt_passes() -> None:
    found = judged_study(_context(around(1.4, 0.01, 3)))
    assert found.verdict.outcome is Outcome.PASS
    assert [round(one.ratio, 2) for one in found.results] == [0.93, 1.0]


def test_a_speedup_that_goes_after_a_long_prompt_is_red_and_says_where() -> None:
    found = judged_study(_context(around(0.8, 0.01, 3)))
    assert found.verdict.outcome is Outcome.REGRESSION
    assert "speedup at 4104 1.505 x at 512, 0.8027 deep, 0.53x" in found.verdict.reason


def test_drafts_that_collapse_are_red_by_their_count_alone() -> None:
    found = judged_study(_context(around(1.4, 0.01, 3), accepted=10))
    assert [one.outcome for one in found.results] == [Outcome.PASS, Outcome.REGRESSION]


def test_a_bound_inside_the_noise_is_left_open() -> None:
    found = judged_study(_context(around(1.05, 0.2, 3)))
    assert found.verdict.outcome is Outcome.INCONCLUSIVE


def test_a_ratio_without_a_bound_judges_nothing() -> None:
    found = judged_study(_context(around(0.2, 0.01, 3), bounds={"speedup": Bound(limit=0.1)}))
    assert [one.outcome for one in found.results] == [Outcome.PASS, None]


def test_where_nothing_is_judged_nothing_passes() -> None:
    found = judged_study(_context(around(1.4, 0.01, 3), bounds={}))
    assert found.verdict.outcome is Outcome.INVALID
    assert "nothing was compared" in found.verdict.reason


def test_of_times_more_is_worse() -> None:
    found = judged_study(_context(around(1.4, 0.01, 3), bounds={"speedup": Bound(limit=0.5, most=True)}))
    assert found.verdict.outcome is Outcome.REGRESSION


@pytest.mark.parametrize(
    ("fresh", "outcome"), [(0.8, Outcome.REGRESSION), (1.5, Outcome.INCONCLUSIVE)], ids=["recurs", "does not"]
)
def test_a_loss_is_red_only_where_fresh_starts_show_it_too(fresh: float, outcome: Outcome) -> None:
    again = Variant(name="depths", campaign=_depths(around(fresh, 0.01, 3)))
    assert judged_study(replace(_context(around(0.8, 0.01, 3)), again=(again,))).verdict.outcome is outcome


def test_a_loss_whose_arm_does_not_even_start_again_stays_a_loss() -> None:
    failures = (ArmFailure(arm=Arm.MTP, stage=Stage.START, message="it died"),)
    again = Variant(name="depths", campaign=campaign({"a": ()}, failures=failures))
    found = judged_study(replace(_context(around(0.8, 0.01, 3)), again=(again,)))
    assert found.verdict.outcome is Outcome.REGRESSION


@pytest.mark.parametrize(("arms", "outcome"), [((Arm.MTP,), Outcome.REGRESSION), ((Arm.PLAIN, Arm.MTP), Outcome.ERROR)])
def test_an_arm_that_does_not_start_is_a_finding(arms: tuple[Arm, ...], outcome: Outcome) -> None:
    failures = tuple(ArmFailure(arm=arm, stage=Stage.START, message="it died") for arm in arms)
    broken = Variant(name="q8_0", campaign=campaign({"a": ()}, failures=failures))
    found = judged_study(replace(_context(around(1.4, 0.01, 3)), variants=(broken,)))
    assert found.verdict.outcome is outcome
    assert "q8_0: the" in found.verdict.reason


def test_measuring_goes_on_while_it_is_open_and_ends_when_it_is_settled() -> None:
    assert enough(_context(around(1.4, 0.01, 3)))
    assert not enough(_context(around(1.05, 0.2, 3)))


def _with_texts(one: Campaign, texts: Mapping[tuple[Arm, str], str]) -> Campaign:
    def told(start: Start) -> Start:
        samples = [
            replace(each, text=texts[start.arm, each.prompt_class], text_sha256=texts[start.arm, each.prompt_class])
            for each in start.samples
        ]
        return replace(start, samples=tuple(samples))

    blocks = [replace(block, starts=tuple(map(told, block.starts))) for block in one.blocks]
    return replace(one, blocks=tuple(blocks))


def _text(*, gate: bool, flags: Mapping[str, str] | None = None) -> Study:
    texts = {(Arm.PLAIN, "a"): "one two three", (Arm.MTP, "a"): "one two four"}
    main = _with_texts(campaign({"a": (1.0, 1.0)}, flags=flags or {}), texts)
    study = Study(
        suite=Suite.TEXT, flag_set="n3", subject="", first="plain", second="mtp", variants=(),
        demands={"same text": float(gate)}, gate=_GATE,
    )  # fmt: skip
    return judged_study(study, main)


def test_another_text_is_told_with_its_place_and_judged_only_on_demand() -> None:
    found = _text(gate=False)
    assert found.verdict.outcome is Outcome.PASS
    assert "from character 8: after 'one two ' plain has 'three', mtp 'four'" in found.notices[0]
    assert _text(gate=True).verdict.outcome is Outcome.REGRESSION


@pytest.mark.parametrize("flag", ["sampled", "synth_rates"])
def test_texts_that_are_not_greedy_are_not_compared(flag: str) -> None:
    assert _text(gate=True, flags={flag: "true"}).verdict.outcome is Outcome.NOT_TOLD


def _parallel(beside: str, flags: Mapping[str, str] | None = None) -> Study:
    alone = {(arm, name): f"{name}word-001 {name}word-002" for arm in Arm for name in "ab"}
    together = {**alone, (Arm.MTP, "b"): beside}
    two = {"a": around(1.2, 0.01, 3), "b": around(1.2, 0.01, 3)}
    variants = (
        Variant(name="alone", campaign=_with_texts(campaign(two, flags=flags or {}), alone)),
        Variant(name="at once", campaign=_with_texts(campaign(two, flags=flags or {}), together)),
    )
    return Study(
        suite=Suite.PARALLEL, flag_set="n3", subject="2 slots", first="plain", second="mtp", variants=variants,
        gate=_GATE,
    )  # fmt: skip


def test_a_slot_that_says_what_only_another_says_is_red() -> None:
    assert judged_study(_parallel("bword-001 bword-003")).verdict.outcome is Outcome.PASS
    leaked = judged_study(_parallel("bword-001 aword-002 aword-001")).verdict
    assert leaked.outcome is Outcome.REGRESSION
    assert "the answer to b says 'aword-001' and 'aword-002'" in leaked.reason


def test_one_mark_that_two_answers_share_is_no_leak() -> None:
    assert "no slot's text" in judged_study(_parallel("bword-001 aword-002")).verdict.reason


def test_texts_drawn_by_chance_accuse_no_slot() -> None:
    drawn = _parallel("bword-001 aword-002 aword-001", flags={"sampled": "true"})
    assert [one.outcome for one in judged_study(drawn).checks] == [Outcome.NOT_TOLD]


def test_without_the_texts_alone_nothing_is_said_of_whose_they_are() -> None:
    whole = _parallel("bword-001 aword-002 aword-001")
    alone, together = whole.variants
    bare = replace(alone, campaign=campaign({"a": around(1.2, 0.01, 3), "b": around(1.2, 0.01, 3)}))
    assert [one.outcome for one in judged_study(replace(whole, variants=(bare, together))).checks] == [Outcome.INVALID]


def test_a_study_in_which_nothing_was_drafted_measured_nothing() -> None:
    idle = Variant(name="depths", campaign=campaign({"a@512": (1.0, 1.0)}, drafted=0))
    found = judged_study(replace(_context(around(1.4, 0.01, 3)), variants=(idle,)))
    assert found.verdict.outcome is Outcome.NOT_EXERCISED


@pytest.mark.parametrize(("blocks", "outcome"), [(2, Outcome.INCONCLUSIVE), (3, Outcome.PASS)])
def test_a_study_that_ran_out_of_time_is_judged_at_a_planned_look_alone(blocks: int, outcome: Outcome) -> None:
    whole = campaign({"a@512": around(1.5, 0.001, blocks), "a@4104": around(1.4, 0.001, blocks)})
    late = Variant(name="depths", campaign=replace(whole, stopped="the time limit ended it"))
    assert judged_study(replace(_context(around(1.4, 0.01, 3)), variants=(late,))).verdict.outcome is outcome


def test_every_suite_has_a_reader_of_its_evidence() -> None:
    assert set(_EVIDENCE) == set(Suite)
