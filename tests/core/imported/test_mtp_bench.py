"""mtp-bench.py: its rates by our formula where the build tells theirs, and its counts by our tau."""

from typing import Any

import pytest

from pytest_mtp.core.history import Metric
from pytest_mtp.core.imported import Pair, imported
from pytest_mtp.core.imported.counting import Counting, counting_of
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.verdict import Outcome
from tests.core.imported.files import mtp_bench, origin, read


def values(document: object, name: str = "code_python", **changes: Any) -> dict[Metric, float]:
    (entry,) = imported(document, origin(**changes))
    return {metric: value.value for metric, value in entry.classes[name].values.items()}


@pytest.mark.parametrize(
    ("name", "speedup", "tau"),
    [("code_python", 1.621, 191 / 58), ("summarize", 1.550, 54 / 17), ("translation", 1.304, 21 / 8)],
)
def test_both_files_give_the_published_speedup_and_its_factors(name: str, speedup: float, tau: float) -> None:
    found = values(mtp_bench(), name)
    assert found[Metric.SPEEDUP] == pytest.approx(speedup, abs=0.0005)
    assert found[Metric.TAU] == pytest.approx(tau)
    assert found[Metric.TAU] / found[Metric.STEP_COST] == pytest.approx(found[Metric.SPEEDUP])


@pytest.mark.parametrize(
    ("build", "share", "said"),
    [
        ("b9030-267f8afe8", 191 / 192, "(n - 1) / T"),
        ("b10405", 191 / 192, "(n - 1) / T"),
        ("b11434", 1.0, "(n - 1) / T"),
        ("b11000", 1.0, "by its build"),
        ("b192fad3", 1.0, "by its build"),
        ("master", 1.0, "by its build"),
    ],
)
def test_a_rate_is_recomputed_where_the_build_tells_how_it_was_counted(build: str, share: float, said: str) -> None:
    assert values(mtp_bench(), build=build)[Metric.MTP_TPS] == pytest.approx(68.74353291633697 * share)
    (entry,) = imported(mtp_bench(), origin(build=build))
    assert entry.facts["tok/s"].endswith(said)


def test_a_rate_of_unknown_counting_is_no_point_of_the_series_of_known_ones() -> None:
    known, new, unknown = (imported(mtp_bench(), origin(build=build))[0] for build in ("b9030", "b11434", "b11000"))
    assert known.segment("code_python") == new.segment("code_python") != unknown.segment("code_python")


def test_the_formula_of_tau_is_said_because_tables_of_others_have_another() -> None:
    (entry,) = imported(mtp_bench(), origin())
    assert entry.facts["tau"] == "(n - 1) / (n - 1 - a), tables of others have n / (n - a)"


@pytest.mark.parametrize(
    ("name", "changes", "metrics"),
    [
        ("mtp_bench_off", {}, {Metric.PLAIN_TPS}),
        ("mtp_bench_on", {}, {Metric.MTP_TPS, Metric.TAU}),
        ("mtp_bench_off", {"arm": Arm.MTP}, {Metric.MTP_TPS, Metric.TAU}),
    ],
)
def test_one_file_is_one_arm(name: str, changes: dict[str, Any], metrics: set[Metric]) -> None:
    assert values(read(name), **changes).keys() == metrics


def test_an_mtp_arm_without_a_draft_is_a_finding() -> None:
    (entry,) = imported(Pair(read("mtp_bench_off"), read("mtp_bench_off")), origin())
    assert {one.outcome for one in entry.classes.values()} == {Outcome.NOT_EXERCISED}
    assert entry.classes["summarize"].values[Metric.SPEEDUP].value == pytest.approx(1.0)


@pytest.mark.parametrize("rate", [None, 0.0])
def test_a_row_without_a_time_is_kept_with_its_counts(rate: float | None) -> None:
    document = mtp_bench()
    document.mtp["results"][0]["predicted_per_second"] = rate  # type: ignore[index]  # decoded JSON
    assert values(document).keys() == {Metric.PLAIN_TPS, Metric.TAU}
    assert Metric.SPEEDUP in values(document, "summarize")


def test_an_answer_that_failed_keeps_its_class() -> None:
    document = read("mtp_bench_on")
    document["results"][0] |= {"predicted_n": 0, "predicted_per_second": 0.0, "accept_rate": None, "error": "refused"}
    (entry,) = imported(document, origin())
    assert (entry.classes["code_python"].outcome, entry.classes["code_python"].values) == (Outcome.ERROR, {})
    assert entry.classes["summarize"].outcome is Outcome.NO_BASELINE


def test_repeated_prompts_are_added_up_and_do_not_end_their_series() -> None:
    once = read("mtp_bench_on")
    again = {**once, "results": [*once["results"], {**once["results"][0], "predicted_per_second": 137.48706583267394}]}
    assert values(again)[Metric.MTP_TPS] == pytest.approx(values(once)[Metric.MTP_TPS] * 4 / 3)
    assert values(again)[Metric.TAU] == values(once)[Metric.TAU]
    segments = {imported(one, origin())[0].segment("code_python") for one in (once, again)}
    assert len(segments) == 1


def test_what_wrappers_and_forks_write_beside_the_results_are_facts() -> None:
    document = read("mtp_bench_on") | {"gguf": "q4.gguf", "spec_flags": "--spec-draft-n-max 3", "timestamp": "now"}
    document["aggregate"]["concurrency"] = 4
    facts = imported(document, origin())[0].facts
    assert (facts["gguf"], facts["flags.speculation"], facts["request.concurrency"]) == (
        "q4.gguf",
        "--spec-draft-n-max 3",
        "4",
    )
    assert "now" not in facts.values()


@pytest.mark.parametrize("counting", list(Counting))
def test_an_answer_of_one_token_has_no_rate(counting: Counting) -> None:
    document = read("mtp_bench_off")
    document["results"][0] |= {"predicted_n": 1, "predicted_per_second": 1e6}
    build = {Counting.ALL: "b9030", Counting.WITHOUT_FREE: "b11434", Counting.UNKNOWN: "master"}[counting]
    assert counting_of(build) is counting
    assert values(document, build=build) == {}
