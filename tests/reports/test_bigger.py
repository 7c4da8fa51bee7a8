"""The numbers for github-action-benchmark."""

import json
from dataclasses import replace
from typing import Any

import pytest

from pytest_mtp.core.profile import Gate
from pytest_mtp.core.run_report import REPORT_VERSION, Judged, RunReport
from pytest_mtp.core.sample import ArmFailure, Campaign, Stage
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.reports.bigger import bigger
from tests.campaigns import around, campaign
from tests.comparisons import base, compared, stretched
from tests.hostile import hostile_report

MEASURED = campaign({"a": around(2.0, 0.01), "b": around(1.2, 0.01)})


def report(*campaigns: Campaign, **changes: object) -> RunReport:
    judged = tuple(Judged(campaign=one, gate=Gate(), **changes).rejudged() for one in campaigns)  # type: ignore[arg-type]
    return RunReport(version=REPORT_VERSION, created_at="now", tool="t", profile="p", machine={}, judged=judged)


def entries(one: RunReport) -> list[dict[str, Any]]:
    found = json.loads(bigger(one))
    assert isinstance(found, list)
    return found


def test_each_class_has_its_speedup_and_its_speed() -> None:
    found = {one["name"]: one for one in entries(report(MEASURED, replace(MEASURED, flag_set="n2")))}
    assert list(found) == [
        f"{fs}/{name}/{slug}" for fs in ("n3", "n2") for name in "ab" for slug in ("speedup", "mtp-tps")
    ]
    assert found["n3/a/speedup"]["value"] == pytest.approx(2.0)
    assert found["n3/a/speedup"]["unit"] == "x"
    assert found["n3/a/mtp-tps"]["value"] == pytest.approx(200.0)
    assert found["n3/a/mtp-tps"]["unit"] == "tok/s"


def test_the_range_is_half_the_interval_and_the_rest_goes_along_in_words() -> None:
    one = entries(report(MEASURED))[0]
    # t at 95 % with 3 degrees of freedom is 3.182; the sd of four logs of ±0.01 is 0.01155.
    assert one["range"] == "± 0.0367"
    for said in ("build b1", "model m1", "verdict NO_BASELINE, 4 blocks", "tau 3 tokens/step", "step-cost 1.5 ["):
        assert said in one["extra"]


def test_what_was_not_measured_is_left_out() -> None:
    failed = replace(MEASURED, failures=(ArmFailure(arm=Arm.MTP, stage=Stage.START, message="no"),))
    one_block = campaign({"a": around(2.0, 0.01, 1)})
    assert entries(report(failed)) == entries(report(one_block)) == entries(report(campaign({"a": ()}))) == []


def test_of_a_comparison_the_head_is_told() -> None:
    head = stretched(base(), mtp=1.25)
    found = {one["name"]: one["value"] for one in entries(report(head, compared=compared(base())))}
    assert found["n3/a/mtp-tps"] == pytest.approx(160.0, rel=0.02)


def test_hostile_words_are_plain_in_a_table_and_a_page() -> None:
    found = entries(hostile_report())
    assert len({one["name"] for one in found}) == len(found) == 4
    for one in found:
        assert not set("`|<>\n\r\x1b") & set(one["name"])
        assert len(one["extra"].splitlines()) == 8
    assert bigger(hostile_report()).isascii()
