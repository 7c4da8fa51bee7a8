"""The numbers in Bencher Metric Format."""

import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from pytest_mtp.core.profile import Gate
from pytest_mtp.core.run_report import REPORT_VERSION, Judged, RunReport
from pytest_mtp.core.sample import Campaign
from pytest_mtp.reports.bencher import bencher
from tests.campaigns import around, campaign
from tests.hostile import hostile_report

MEASURED = campaign({"a": around(2.0, 0.01), "b": around(1.2, 0.01)})
METRIC = {
    "type": "object",
    "properties": {name: {"type": "number"} for name in ("value", "lower_value", "upper_value")},
    "required": ["value"],
    "additionalProperties": False,
}
MEASURES = {"type": "object", "patternProperties": {"^[a-z-]{1,64}$": METRIC}, "additionalProperties": False}
FORMAT = {"type": "object", "additionalProperties": MEASURES}


def report(campaign: Campaign) -> RunReport:
    judged = Judged(campaign=campaign, gate=Gate()).rejudged()
    return RunReport(version=REPORT_VERSION, created_at="now", tool="t", profile="p", machine={}, judged=(judged,))


def benchmarks(one: RunReport) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(bencher(one), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    jsonschema.validate(found, FORMAT)
    return found


def test_each_class_is_a_benchmark_with_its_measures() -> None:
    found = benchmarks(report(MEASURED))
    assert list(found) == ["n3/a", "n3/b"]
    assert list(found["n3/a"]) == ["tau", "speedup", "mtp-tps", "plain-tps", "step-cost"]
    assert found["n3/a"]["tau"] == {"value": 3.0}
    speedup = found["n3/a"]["speedup"]
    assert speedup["lower_value"] < speedup["value"] < speedup["upper_value"]
    assert (speedup["lower_value"], speedup["upper_value"]) == pytest.approx((1.9636, 2.0371), abs=1e-3)


def test_what_has_no_interval_is_no_benchmark() -> None:
    assert benchmarks(report(campaign({"a": around(2.0, 0.01, 1)}))) == {}
    assert benchmarks(replace(report(MEASURED), judged=())) == {}


def test_hostile_words_are_names() -> None:
    found = benchmarks(hostile_report())
    assert len(found) == 2
    assert all(len(name) <= 1024 and not set("`|<>\n\r\x1b") & set(name) for name in found)


def test_a_long_name_is_cut_to_what_is_taken() -> None:
    [name] = benchmarks(report(campaign({"x" * 5_000: around(2.0, 0.01)})))
    assert len(name) <= 1024
