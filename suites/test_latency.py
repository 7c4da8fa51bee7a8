"""What does a person wait for? The first token, and the gaps between the further ones."""

from collections.abc import Callable

from pytest_mtp.core.profile import Profile
from pytest_mtp.core.suites import latency
from pytest_mtp.core.suites.protocol import Design
from pytest_mtp.core.verdict import Verdict


def test_latency(
    mtp_studied: str,
    mtp_profile: Profile,
    mtp_study: Callable[[Design], Verdict],
    mtp_gate: Callable[[Verdict], None],
) -> None:
    mtp_gate(mtp_study(latency.design(mtp_profile, mtp_studied)))
