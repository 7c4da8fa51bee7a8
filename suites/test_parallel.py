"""What is MTP worth when several users ask at once? Four by marker."""

from collections.abc import Callable

import pytest

from pytest_mtp.core.profile import Profile
from pytest_mtp.core.suites import parallel
from pytest_mtp.core.suites.protocol import Design
from pytest_mtp.core.verdict import Verdict


@pytest.mark.parametrize("slots", [2, pytest.param(4, marks=pytest.mark.mtp_dear)])
def test_parallel(
    slots: int,
    mtp_studied: str,
    mtp_profile: Profile,
    mtp_study: Callable[[Design], Verdict],
    mtp_gate: Callable[[Verdict], None],
) -> None:
    if len(mtp_profile.classes) < slots:
        pytest.skip(f"{slots} users at once need as many prompt classes")
    mtp_gate(mtp_study(parallel.design(mtp_profile, mtp_studied, slots)))
