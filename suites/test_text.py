"""Do both arms say the same? Told, and judged only where the profile asks."""

from collections.abc import Callable

from pytest_mtp.core.profile import Profile
from pytest_mtp.core.suites import text
from pytest_mtp.core.suites.protocol import Design
from pytest_mtp.core.verdict import Verdict


def test_text(
    mtp_flag_set: str,
    mtp_profile: Profile,
    mtp_study: Callable[[Design], Verdict],
    mtp_gate: Callable[[Verdict], None],
) -> None:
    mtp_gate(mtp_study(text.design(mtp_profile, mtp_flag_set)))
