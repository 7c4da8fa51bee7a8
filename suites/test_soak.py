"""Does one server stay as fast, and its drafts as good, over its life?"""

from collections.abc import Callable

import pytest

from pytest_mtp.core.profile import Profile
from pytest_mtp.core.suites import soak
from pytest_mtp.core.suites.protocol import Design
from pytest_mtp.core.verdict import Verdict


@pytest.mark.mtp_dear
def test_soak(
    mtp_studied: str,
    mtp_profile: Profile,
    mtp_study: Callable[[Design], Verdict],
    mtp_gate: Callable[[Verdict], None],
) -> None:
    mtp_gate(mtp_study(soak.design(mtp_profile, mtp_studied)))
