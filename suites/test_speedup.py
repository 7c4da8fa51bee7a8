"""Is multi-token prediction still as fast as it was, for every kind of prompt?"""

from collections.abc import Callable

from pytest_mtp.core.verdict import ClassResult, Verdict


def test_speedup(mtp_result: ClassResult, mtp_gate: Callable[[Verdict], None]) -> None:
    mtp_gate(mtp_result.speed)
