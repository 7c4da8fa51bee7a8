"""Two stored reports: compared where they measured the same on one machine, refused by name where not."""

import re
from dataclasses import replace
from typing import Any

import pytest

from pytest_mtp.core.cause import Cause
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.run_report import REPORT_VERSION, Judged, RunReport
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.stored_comparison import compared_reports
from pytest_mtp.core.tier import Tier
from pytest_mtp.core.verdict import Outcome
from pytest_mtp.errors import InputError
from tests.comparisons import base, stretched

BASE = base()
RULE = Tier.SCREEN.rule()


def stored(measured: Campaign, **changes: Any) -> RunReport:
    values = {"machine": {"cpu": "a processor"}, "created_at": "now", "tool": "t", "profile": "p"} | changes
    return RunReport(version=REPORT_VERSION, judged=(Judged(campaign=measured, gate=Gate()),), **values)


def test_a_later_report_is_judged_against_an_earlier_one() -> None:
    found = compared_reports(stored(BASE), stored(stretched(BASE, mtp=1.3)), RULE).judged[0]
    assert {(one.speed.outcome, one.speed.cause) for one in found.results} == {(Outcome.REGRESSION, Cause.STEP_COST)}
    back = compared_reports(stored(stretched(BASE, mtp=1.3)), stored(BASE), RULE).judged[0]
    assert {one.speed.outcome for one in back.results} == {Outcome.IMPROVED}


def test_only_the_classes_asked_for_are_judged() -> None:
    found = compared_reports(stored(BASE), stored(BASE), RULE, ("b",))
    assert [one.prompt_class for one in found.judged[0].results] == ["b"]


@pytest.mark.parametrize(
    ("head", "why"),
    [
        (stored(BASE, machine={"cpu": "another"}), "different machines (cpu was a processor, is another)"),
        (stored(replace(BASE, flag_set="n5")), "no flag set in common: n3 was measured first"),
        (stored(stretched(BASE, request={"tokens": "9"})), "another request"),
        (stored(stretched(BASE, isolation="alternate")), "another isolation"),
        (stored(stretched(BASE, prompts={"a": "1", "b": "2"})), "no class with the same prompt"),
    ],
)
def test_reports_that_measured_other_things_are_refused_by_name(head: RunReport, why: str) -> None:
    with pytest.raises(InputError, match=re.escape(why)):
        compared_reports(stored(BASE), head, RULE)
