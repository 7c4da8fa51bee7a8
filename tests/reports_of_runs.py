"""Reports made of numbers, for tests of what is done with whole runs."""

from collections.abc import Mapping, Sequence

from pytest_mtp.core.profile import Gate
from pytest_mtp.core.run_report import REPORT_VERSION, Judged, RunReport
from tests.campaigns import campaign

MACHINE = {"cpu": "a processor", "cores": "2"}


def run_report(
    speedups: Mapping[str, Sequence[float]], at: str = "2026-11-01T03:00:00+00:00", **changes: object
) -> RunReport:
    """The report of a run whose classes have these block speedups; ``changes`` are of its circumstances."""
    judged = Judged(campaign=campaign(speedups, **changes), gate=Gate()).rejudged()  # type: ignore[arg-type]
    return RunReport(
        version=REPORT_VERSION, created_at=at, tool="pytest-mtp 0.1.0", profile="phantom", machine=MACHINE,
        judged=(judged,),
    )  # fmt: skip
