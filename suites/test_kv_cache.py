"""What do the types of the KV cache cost, with MTP and without?"""

from collections.abc import Callable

import pytest

from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.core.profile import Profile
from pytest_mtp.core.suites import kv_cache
from pytest_mtp.core.suites.protocol import Design
from pytest_mtp.core.verdict import Verdict


@pytest.mark.mtp_dear
def test_kv_cache(
    mtp_capabilities: Capabilities,
    mtp_studied: str,
    mtp_profile: Profile,
    mtp_study: Callable[[Design], Verdict],
    mtp_gate: Callable[[Verdict], None],
) -> None:
    mtp_gate(mtp_study(kv_cache.design(mtp_profile, mtp_studied, mtp_capabilities)))
