"""Other kinds of speculation: which are asked of a build, and what their campaigns say."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mtp.core.capabilities import Capabilities, parse_help
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.study import Bound, Study, Suite, Variant
from pytest_mtp.core.study_judge import judged_study
from pytest_mtp.core.suites.other_speculation import design
from pytest_mtp.core.suites.protocol import Design
from pytest_mtp.core.verdict import Outcome
from pytest_mtp.errors import FlagError
from pytest_mtp.runtime.profiles import load_profile
from tests.campaigns import around, campaign

DATA = Path(__file__).parent / "data"
PHANTOM = load_profile("phantom")
NEWEST = parse_help((DATA / "help-b11434.txt").read_text())
ONE_KIND = parse_help(
    "--port PORT                             port\n--spec-type [none|ngram-simple|ngram-mod]  type of speculation\n"
)


def planned(*kinds: str, capabilities: Capabilities = NEWEST) -> Design:
    table = replace(PHANTOM.suites.other_speculation, kinds=kinds)
    return design(replace(PHANTOM, suites=replace(PHANTOM.suites, other_speculation=table)), "n3", capabilities)


def names(found: Design) -> list[str]:
    return [one.name for one in found.arrangements]


def test_every_ngram_kind_of_the_build_is_asked_and_one_before_mtp() -> None:
    kinds = ["ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache"]
    assert names(planned()) == ["mtp", *kinds, "ngram-mod+mtp"]


def test_a_build_that_takes_one_kind_at_a_time_is_asked_no_chain() -> None:
    assert names(planned(capabilities=ONE_KIND)) == ["mtp", "ngram-simple", "ngram-mod"]


def test_a_small_model_is_asked_where_the_profile_names_one_and_no_other_kind_gets_it() -> None:
    table = replace(PHANTOM.suites.other_speculation, draft_model="/small.gguf")
    found = design(replace(PHANTOM, suites=replace(PHANTOM.suites, other_speculation=table)), "n3", NEWEST)
    assert drafting_models(found) == {**dict.fromkeys(names(planned())), "draft-simple": "/small.gguf"}


def test_a_head_in_a_file_of_its_own_stays_with_the_flag_sets_own_kinds() -> None:
    own = replace(PHANTOM.flag_sets["n3"], draft_model="/head.gguf")
    found = design(replace(PHANTOM, flag_sets={"n3": own}), "n3", NEWEST)
    assert drafting_models(found) == {**dict.fromkeys(names(planned())), "mtp": "/head.gguf"}


def drafting_models(found: Design) -> dict[str, str | None]:
    """The draft model of every campaign, as its mtp server would be told of it."""
    specs = {
        one.name: one.profile.server_spec("n3", model="m", speculative=True).speculation for one in found.arrangements
    }
    return {name: spec.draft_model for name, spec in specs.items() if spec is not None}


@pytest.mark.parametrize(
    ("kinds", "why"),
    [
        ("ngram-new", r"no speculation by ngram-new \(it lists ngram-simple, ngram-mod\)"),
        ("ngram-mod+ngram-simple", "one kind of speculation at a time, not ngram-mod and ngram-simple"),
    ],
)
def test_a_kind_that_was_named_and_cannot_be_had_is_refused(kinds: str, why: str) -> None:
    with pytest.raises(FlagError, match=why):
        planned(kinds, capabilities=ONE_KIND)


def test_a_build_without_another_kind_has_nothing_to_compare() -> None:
    bare = parse_help(
        "--port PORT                             port\n--spec-type [none|draft-mtp]  type of speculation\n"
    )
    assert planned(capabilities=bare).lacking == "this build has no other kind"
    assert planned().lacking is None


def test_answers_are_as_long_as_the_suite_asks_and_the_arms_differ_in_kinds_alone() -> None:
    own, other = (one.profile for one in planned("ngram-mod").arrangements)
    assert (own.request.tokens, other.request.tokens) == (256, 256)
    assert replace(other.flag_sets["n3"], kinds=("mtp",)) == own.flag_sets["n3"]


def judged(others: Mapping[str, Campaign], own: Campaign | None = None) -> Study:
    mtp = campaign({"a": around(1.5, 0.01)}) if own is None else own
    study = Study(
        suite=Suite.OTHER_SPECULATION, flag_set="n3", subject="", first="plain", second="drafting",
        variants=tuple(Variant(name=name, campaign=one) for name, one in {"mtp": mtp, **others}.items()),
        bounds={"other": Bound(limit=0.5)}, gate=Gate(looks=(4, 8)),
    )  # fmt: skip
    return judged_study(study)


def at(speedup: float, drafted: int = 100) -> Campaign:
    return campaign({"a": around(speedup, 0.01)}, drafted=drafted)


@pytest.mark.parametrize(("speedup", "outcome"), [(0.8, Outcome.PASS), (0.3, Outcome.REGRESSION)])
def test_a_kind_that_is_far_slower_than_none_is_red(speedup: float, outcome: Outcome) -> None:
    found = judged({"ngram-mod": at(speedup)})
    assert found.verdict.outcome is outcome
    assert [(one.name, one.outcome) for one in found.results][:2] == [
        ("speedup, mtp", None),
        ("speedup, ngram-mod", outcome),
    ]


def test_mtp_is_compared_with_the_best_other_kind_and_not_judged_by_it() -> None:
    found = judged({"ngram-mod": at(1.2), "ngram-simple": at(3.0)})
    *_, against = found.results
    assert (against.name, round(against.ratio, 2), against.outcome) == ("mtp over ngram-simple", 0.5, None)
    assert found.verdict.outcome is Outcome.PASS


def test_a_kind_that_knows_the_answer_already_is_no_rival_of_mtp() -> None:
    found = judged({"ngram-mod": at(3.0), "ngram-mod+mtp": at(3.0), "ngram-simple": at(1.2)})
    assert found.results[-1].name == "mtp over ngram-simple"


def test_ngrams_that_drafted_nothing_are_told_and_judge_nothing() -> None:
    found = judged({"ngram-simple": at(0.3, drafted=0), "ngram-map-k": at(1.1)})
    assert found.verdict.outcome is Outcome.PASS
    assert "1 of 2 other kinds drafted" in found.verdict.reason
    assert any("ngram-simple drafted nothing in answers of 97 tokens" in one for one in found.notices)
    assert found.results[-1].name == "mtp over ngram-map-k"


@pytest.mark.parametrize("name", ["mtp", "ngram-mod+mtp", "draft-simple"])
def test_what_has_a_head_or_a_model_must_draft(name: str) -> None:
    found = judged({name: at(1.0, drafted=0)})
    assert found.verdict.outcome is Outcome.NOT_EXERCISED
    assert f"{name} drafted nothing" in found.verdict.reason


def test_kinds_that_remember_are_told_to_be_at_their_best() -> None:
    assert any(one.startswith("ngram-mod may know") for one in judged({"ngram-mod": at(1.1)}).notices)
    assert not any("may know" in one for one in judged({"ngram-simple": at(1.1)}).notices)
