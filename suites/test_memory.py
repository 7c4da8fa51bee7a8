"""What does MTP cost in memory, and does it grow?"""

from collections.abc import Callable

from pytest_mtp.core.profile import Profile
from pytest_mtp.core.suites import memory
from pytest_mtp.core.suites.protocol import Design
from pytest_mtp.core.verdict import Verdict


def test_memory(
    mtp_flag_set: str,
    mtp_profile: Profile,
    mtp_study: Callable[[Design], Verdict],
    mtp_gate: Callable[[Verdict], None],
) -> None:
    mtp_gate(mtp_study(memory.design(mtp_profile, mtp_flag_set)))
