"""Does MTP still gain after a long prompt?"""

from collections.abc import Callable

import pytest

from pytest_mtp.core.profile import Profile
from pytest_mtp.core.suites import context
from pytest_mtp.core.suites.protocol import Design
from pytest_mtp.core.verdict import Verdict


@pytest.mark.mtp_dear
def test_context(
    mtp_studied: str,
    mtp_profile: Profile,
    mtp_study: Callable[[Design], Verdict],
    mtp_gate: Callable[[Verdict], None],
) -> None:
    mtp_gate(mtp_study(context.design(mtp_profile, mtp_studied)))
