"""How do n-grams, a draft model and chains of kinds do beside MTP, and is any of them far slower than none?"""

from collections.abc import Callable

import pytest

from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.core.profile import Profile
from pytest_mtp.core.suites import other_speculation
from pytest_mtp.core.suites.protocol import Design
from pytest_mtp.core.verdict import Verdict


@pytest.mark.mtp_dear
def test_other_speculation(
    mtp_capabilities: Capabilities,
    mtp_studied: str,
    mtp_profile: Profile,
    mtp_study: Callable[[Design], Verdict],
    mtp_gate: Callable[[Verdict], None],
) -> None:
    mtp_gate(mtp_study(other_speculation.design(mtp_profile, mtp_studied, mtp_capabilities)))
