"""pytest-benchmark's JSON of our own runs: the estimates of the campaign that was replayed into it."""

from typing import Any

import pytest

from pytest_mtp.core.factors import factors
from pytest_mtp.core.history import Entry, Metric
from pytest_mtp.core.imported import imported
from pytest_mtp.core.verdict import Outcome
from pytest_mtp.errors import InputError
from tests.campaigns import around, campaign
from tests.core.imported.files import origin, read

# What was replayed when the example file was written.
MEASURED = campaign(
    {"code": around(2.0, 0.01, 4), "chat-long": around(1.2, 0.02, 4)}, accepted={"code": 64, "chat-long": 40}
)


def of_file(document: Any, **changes: Any) -> Entry:
    (entry,) = imported(document, origin(**changes))
    return entry


@pytest.mark.parametrize("name", MEASURED.classes)
def test_the_blocks_are_estimated_as_they_were_when_measured(name: str) -> None:
    found, expected = of_file(read("pytest_benchmark")).classes[name], factors(MEASURED, name)
    assert expected is not None
    for metric, estimate in {
        Metric.SPEEDUP: expected.speedup,
        Metric.STEP_COST: expected.step_cost,
        Metric.PLAIN_TPS: expected.plain_tps,
        Metric.MTP_TPS: expected.mtp_tps,
    }.items():
        value = found.values[metric]
        assert (value.value, value.low, value.high) == pytest.approx((estimate.ratio, *estimate.interval(0.95)))
    assert found.values[Metric.TAU].value == pytest.approx(expected.tau)
    assert found.outcome is Outcome.NO_BASELINE


def test_the_file_knows_best_when_and_with_which_flag_set_it_was_measured() -> None:
    entry = of_file(read("pytest_benchmark"), flag_set="n2", at="2020-01-01")
    assert (entry.flag_set, entry.at) == ("n3", "2026-11-30T21:18:07+00:00")
    assert entry.facts == {"arch": "x86_64", "cpu": "A processor", "system": "Linux", "gpu": "a card"}


def test_an_arm_in_front_of_the_case_is_understood_too() -> None:
    document = read("pytest_benchmark")
    for one in document["benchmarks"][:4]:
        case, _, arm = one["param"].rpartition("-")
        one["param"] = f"{arm}-{case}"
    assert of_file(document).classes == of_file(read("pytest_benchmark")).classes


def test_one_arm_alone_is_kept_without_intervals() -> None:
    document = read("pytest_benchmark")
    document["benchmarks"] = document["benchmarks"][1:]
    found = of_file(document).classes
    assert found["code"].values.keys() == {Metric.MTP_TPS, Metric.TAU}
    assert found["code"].values[Metric.MTP_TPS].low is None
    assert Metric.SPEEDUP in found["chat-long"].values


def test_one_block_is_kept_without_an_interval() -> None:
    document = read("pytest_benchmark")
    for one in document["benchmarks"][:2]:
        one["stats"]["rounds"] = 1
    value = of_file(document).classes["code"].values[Metric.SPEEDUP]
    assert value.value == pytest.approx(2.0, rel=1e-3)
    assert value.low is None


def test_flag_sets_become_entries_of_their_own() -> None:
    document = read("pytest_benchmark")
    for one in document["benchmarks"][:2]:
        one |= {"group": "n2: time per token", "param": one["param"].replace("n3-", "n2-")}
    entries = imported(document, origin())
    assert [(one.flag_set, [*one.classes]) for one in entries] == [("n2", ["code"]), ("n3", ["chat-long"])]


def test_a_benchmark_that_a_rerun_wrote_twice_counts_once() -> None:
    document = read("pytest_benchmark")
    document["benchmarks"].append(document["benchmarks"][0])
    assert of_file(document) == of_file(read("pytest_benchmark"))


def test_two_unlike_benchmarks_of_one_case_are_refused() -> None:
    document, other = read("pytest_benchmark"), read("pytest_benchmark")["benchmarks"][0]
    other["extra_info"]["timings"][0]["predicted_ms"] = 1.0
    document["benchmarks"].append(other)
    with pytest.raises(InputError, match=r"benchmarks\[5\]\.param .* another one"):
        imported(document, origin())


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("predicted_ms", float("nan"), r"^benchmarks\[0\]\.extra_info\.timings\[2\]\.predicted_ms is nan"),
        ("predicted_n", None, r"^benchmarks\[0\]\.extra_info\.timings\[2\]\.predicted_n is None"),
    ],
)
def test_a_timing_that_is_none_is_refused_by_its_place(key: str, value: Any, said: str) -> None:
    document = read("pytest_benchmark")
    document["benchmarks"][0]["extra_info"]["timings"][2][key] = value
    with pytest.raises(InputError, match=said):
        imported(document, origin())


def test_rounds_that_the_timings_do_not_fill_are_refused() -> None:
    document = read("pytest_benchmark")
    document["benchmarks"][0]["stats"]["rounds"] = 3
    with pytest.raises(InputError, match=r"stats\.rounds is 3; it must be a divisor of the 4"):
        imported(document, origin())


def test_a_request_without_a_time_takes_nothing_but_the_intervals() -> None:
    document = read("pytest_benchmark")
    document["benchmarks"][0]["extra_info"]["timings"][0]["predicted_ms"] = None
    value = of_file(document).classes["code"].values[Metric.SPEEDUP]
    assert value.value == pytest.approx(2.0, rel=1e-2)
    assert value.low is None


def test_a_file_of_other_benchmarks_alone_is_refused_with_what_is_needed() -> None:
    document = read("pytest_benchmark")
    document["benchmarks"] = document["benchmarks"][-1:]
    with pytest.raises(InputError, match="--benchmark-json"):
        imported(document, origin())
