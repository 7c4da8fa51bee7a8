"""Which tool wrote a file, and what is said of one that none wrote."""

from typing import Any

import pytest

from pytest_mtp.core.imported import Pair, imported
from pytest_mtp.errors import InputError
from tests.core.imported.files import mtp_bench, origin, read, speed_bench

NAMES = r"pytest-benchmark .*mtp-bench\.py .*speed_bench\.py"


@pytest.mark.parametrize(
    ("document", "tool"),
    [
        (read("pytest_benchmark"), "pytest-benchmark"),
        (read("mtp_bench_on"), "mtp-bench"),
        (mtp_bench(), "mtp-bench"),
        (read("speed_bench_baseline"), "speed_bench"),
        (speed_bench(), "speed_bench"),
    ],
)
def test_every_tool_is_known_by_the_shape_of_its_file(document: object, tool: str) -> None:
    (entry,) = imported(document, origin())
    assert (entry.imported_from, entry.run, entry.profile, entry.build) == (tool, "old", "p", "b9030-267f8afe8")
    assert entry.facts["gpu"] == "a card"


@pytest.mark.parametrize("document", [None, [], "text", 7, {}, {"results": []}, {"benchmarks": {}}, {"version": 3}])
def test_an_unknown_file_is_refused_with_the_names_of_those_that_are_known(document: object) -> None:
    with pytest.raises(InputError, match=NAMES):
        imported(document, origin())


@pytest.mark.parametrize(
    "pair",
    [
        Pair(read("mtp_bench_off"), read("speed_bench_speculative")),
        Pair(read("pytest_benchmark"), read("pytest_benchmark")),
    ],
)
def test_two_files_that_are_not_of_one_tool_are_refused(pair: Pair) -> None:
    with pytest.raises(InputError, match="not two files of one of them"):
        imported(pair, origin())


@pytest.mark.parametrize("pair", [mtp_bench(), speed_bench()])
def test_files_that_were_given_the_wrong_way_round_are_noticed(pair: Pair) -> None:
    with pytest.raises(InputError, match="the other way round"):
        imported(Pair(pair.mtp, pair.plain), origin())


@pytest.mark.parametrize(
    ("at", "kept"),
    [
        ("2026-05-06T14:00:00+02:00", "2026-05-06T12:00:00+00:00"),
        ("2026-05-06T12:00:00Z", "2026-05-06T12:00:00+00:00"),
        ("2026-05-06", "2026-05-06T00:00:00+00:00"),
    ],
)
def test_times_are_kept_in_utc_so_that_they_sort_as_texts(at: str, kept: str) -> None:
    assert imported(mtp_bench(), origin(at=at))[0].at == kept


@pytest.mark.parametrize(("at", "said"), [(None, "does not say when"), ("yesterday\x1b[2J", r"'yesterday\\x1b\[2J'")])
def test_a_time_that_is_none_is_refused(at: str | None, said: str) -> None:
    with pytest.raises(InputError, match=said):
        imported(mtp_bench(), origin(at=at))


@pytest.mark.parametrize(
    ("name", "rows", "key", "value"),
    [
        ("mtp_bench_on", "results", "predicted_per_second", float("nan")),
        ("mtp_bench_on", "results", "predicted_per_second", float("inf")),
        ("mtp_bench_on", "results", "predicted_per_second", 10**400),
        ("mtp_bench_on", "results", "predicted_per_second", 1e-300),
        ("mtp_bench_on", "results", "predicted_n", "192"),
        ("mtp_bench_on", "results", "predicted_n", True),
        ("mtp_bench_on", "results", "predicted_n", -1),
        ("mtp_bench_on", "results", "predicted_n", 10**400),
        ("mtp_bench_on", "results", "draft_n_accepted", 175),
        ("mtp_bench_on", "results", "name", ["\x1b[2J"]),
        ("speed_bench_speculative", "results", "predicted_ms", float("nan")),
        ("speed_bench_speculative", "results", "predicted_ms", -1.0),
        ("speed_bench_speculative", "results", "completion_tokens", 3.5),
        ("speed_bench_speculative", "results", "turns", 0),
        ("speed_bench_speculative", "results", "draft_n_accepted", 100),
        ("speed_bench_speculative", "results", "category", ""),
        ("pytest_benchmark", "benchmarks", "group", "somebody's own"),
        ("pytest_benchmark", "benchmarks", "param", "n3-code-third"),
    ],
)
def test_a_value_that_is_none_is_refused_by_the_name_of_its_key(name: str, rows: str, key: str, value: Any) -> None:
    document = read(name)
    document[rows][0][key] = value
    with pytest.raises(InputError, match=rf"^{rows}\[0\]\.{key} is ") as refused:
        imported(document, origin())
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("mtp_bench_on", "name"),
        ("mtp_bench_on", "predicted_n"),
        ("mtp_bench_on", "draft_n"),
        ("mtp_bench_on", "draft_n_accepted"),
        ("speed_bench_speculative", "id"),
        ("speed_bench_speculative", "category"),
        ("speed_bench_speculative", "turns"),
        ("speed_bench_speculative", "completion_tokens"),
    ],
)
def test_a_missing_key_is_named(name: str, key: str) -> None:
    document = read(name)
    del document["results"][1][key]
    with pytest.raises(InputError, match=rf"^results\[1\] has no '{key}'"):
        imported(document, origin())


@pytest.mark.parametrize("name", ["mtp_bench_on", "speed_bench_baseline"])
@pytest.mark.parametrize(("results", "said"), [([], "results is no list with"), ([7], r"results\[0\] is 7")])
def test_results_that_are_none_are_refused(name: str, results: list[int], said: str) -> None:
    with pytest.raises(InputError, match=said):
        imported({**read(name), "results": results}, origin())
