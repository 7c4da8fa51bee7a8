"""How many tokens should be drafted here, and is there a cliff?"""

from collections.abc import Callable

import pytest

from pytest_mtp.core.profile import Profile
from pytest_mtp.core.suites import draft_depth
from pytest_mtp.core.suites.protocol import Design
from pytest_mtp.core.verdict import Verdict


@pytest.mark.mtp_dear
def test_draft_depth(
    mtp_studied: str,
    mtp_profile: Profile,
    mtp_study: Callable[[Design], Verdict],
    mtp_gate: Callable[[Verdict], None],
) -> None:
    mtp_gate(mtp_study(draft_depth.design(mtp_profile, mtp_studied)))
