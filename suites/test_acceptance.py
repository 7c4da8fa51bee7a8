"""Are as many drafts accepted as were?"""

from collections.abc import Callable

from pytest_mtp.core.verdict import ClassResult, Verdict


def test_acceptance(mtp_result: ClassResult, mtp_gate: Callable[[Verdict], None]) -> None:
    mtp_gate(mtp_result.drafts)
