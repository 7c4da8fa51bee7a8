"""The sweep over draft depths: what is swept, and what its campaigns say."""

from dataclasses import replace

import pytest

from pytest_mtp.core.suites.draft_depth import design, own_setting, recommendation, setting
from pytest_mtp.core.suites.protocol import unmeasured
from pytest_mtp.core.verdict import Outcome
from pytest_mtp.runtime.profiles import load_profile
from tests.campaigns import around
from tests.studies import draft_depth

PHANTOM = load_profile("phantom")


@pytest.mark.parametrize("own", [3, 7])
def test_the_flag_sets_own_setting_is_always_swept(own: int) -> None:
    profile = replace(PHANTOM, flag_sets={"n": replace(PHANTOM.flag_sets["n3"], n_max=own, p_min=0.5)})
    planned = design(profile, "n")
    names = [one.name for one in planned.arrangements]
    assert names.count(setting(own, 0.5)) == 1
    assert own_setting(unmeasured(planned, profile.gates)) == setting(own, 0.5)


def test_a_stored_study_that_does_not_tell_its_own_setting_has_none() -> None:
    study = draft_depth({(1, 0.0): around(1.5, 0.01)}, demands={})
    assert own_setting(study) is None
    assert recommendation(study).own is None


def test_speedups_are_of_both_arms_and_cliffs_of_neighbours() -> None:
    found = draft_depth({(1, 0.0): around(1.5, 0.01), (2, 0.0): around(0.5, 0.01), (3, 0.75): around(1.4, 0.01)})
    assert [(one.name, one.sides) for one in found.results] == [
        ("n-max 1, p-min 0", ("plain", "mtp")),
        ("n-max 2, p-min 0", ("plain", "mtp")),
        ("n-max 3, p-min 0.75", ("plain", "mtp")),
        ("tok/s at n-max 1", ("better neighbour", "itself")),
        ("tok/s at n-max 2", ("better neighbour", "itself")),
    ]
    assert found.verdict.outcome is Outcome.REGRESSION
    assert "tok/s at n-max 2 150 tok/s better neighbour, 50 itself, 0.33x" in found.verdict.reason


def test_neighbours_are_those_in_depth_whatever_the_order_of_the_sweep() -> None:
    found = draft_depth({(1, 0.0): around(0.4, 0.01), (8, 0.0): around(2.0, 0.01), (3, 0.0): around(1.0, 0.01)})
    cliffs = {one.name: round(one.first) for one in found.results if one.bound}
    assert cliffs == {"tok/s at n-max 1": 100, "tok/s at n-max 3": 200, "tok/s at n-max 8": 100}


def test_classes_may_be_asked_for_their_own_best() -> None:
    one, other = around(1.5, 0.01), around(0.8, 0.01)
    study = draft_depth({(1, 0.0): one, (8, 0.0): other})
    assert recommendation(study, ("a",)).setting == setting(1, 0.0)
