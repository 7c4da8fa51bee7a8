"""speed_bench.py: rates from tokens and times, the free first token of every turn left out."""

from typing import Any

import pytest

from pytest_mtp.core.history import Metric
from pytest_mtp.core.imported import Pair, imported
from pytest_mtp.core.verdict import Outcome
from pytest_mtp.errors import InputError
from tests.core.imported.files import origin, read, speed_bench


def values(document: object, name: str) -> dict[Metric, float]:
    (entry,) = imported(document, origin())
    return {metric: value.value for metric, value in entry.classes[name].values.items()}


def test_a_category_is_all_tokens_over_all_time() -> None:
    found = values(speed_bench(), "coding")
    assert found[Metric.PLAIN_TPS] == pytest.approx(300 / 7.5)
    assert found[Metric.MTP_TPS] == pytest.approx(300 / 3)
    assert found[Metric.SPEEDUP] == pytest.approx(2.5)
    assert found[Metric.TAU] == pytest.approx(300 / 120)
    assert found[Metric.STEP_COST] == pytest.approx(1.0)


def test_each_turn_has_a_free_first_token() -> None:
    assert values(read("speed_bench_baseline"), "writing")[Metric.PLAIN_TPS] == pytest.approx(300 / 7.5)


def test_the_speedup_is_of_the_samples_that_both_arms_answered() -> None:
    found = values(speed_bench(), "writing")
    assert found[Metric.SPEEDUP] == pytest.approx(1.5)
    assert found[Metric.TAU] == pytest.approx(400 / 200)
    assert found[Metric.STEP_COST] == pytest.approx(300 / 150 / 1.5)
    assert found[Metric.MTP_TPS] == pytest.approx(400 / 6.6)


def test_a_prompt_speed_is_of_single_turns_alone() -> None:
    assert values(speed_bench(), "coding")[Metric.PROMPT_TPS] == pytest.approx(104 / 0.26)
    assert Metric.PROMPT_TPS not in values(read("speed_bench_baseline"), "writing")


def test_a_sample_without_a_time_is_kept_with_its_counts() -> None:
    document = read("speed_bench_speculative")
    for row in document["results"]:
        row["predicted_ms"] = None
    assert values(document, "writing")[Metric.TAU] == pytest.approx(2.0)
    assert Metric.MTP_TPS not in values(document, "writing")


def test_a_category_of_which_every_sample_failed_keeps_its_place() -> None:
    document = read("speed_bench_baseline")
    document["results"] = [row for row in document["results"] if row["id"] != "w1"]
    (entry,) = imported(document, origin())
    assert (entry.classes["writing"].outcome, entry.classes["writing"].values) == (Outcome.ERROR, {})
    assert entry.classes["coding"].outcome is Outcome.NO_BASELINE


def test_another_set_of_samples_is_another_series() -> None:
    fewer = read("speed_bench_baseline")
    fewer["results"] = fewer["results"][1:]
    all_of_them, without_one = (imported(one, origin())[0] for one in (read("speed_bench_baseline"), fewer))
    assert all_of_them.segment("coding") != without_one.segment("coding")
    assert all_of_them.segment("writing") == without_one.segment("writing")


def test_the_request_is_part_of_the_facts_and_the_address_is_not() -> None:
    facts = imported(speed_bench(), origin())[0].facts
    assert facts["request.bench"] == "qualitative"
    assert facts["request.extra"] == "temperature=0"
    assert not any("localhost" in value for value in facts.values())


@pytest.mark.parametrize(("key", "value"), [("osl", 512), ("extra_inputs", {"temperature": 1})])
def test_arms_that_were_asked_unlike_things_are_not_compared(key: str, value: Any) -> None:
    document = speed_bench()
    changed = {**document.mtp, "config": {**document.mtp["config"], key: value}}  # type: ignore[dict-item,index]
    with pytest.raises(InputError, match=r"differ in request\."):
        imported(Pair(document.plain, changed), origin())
