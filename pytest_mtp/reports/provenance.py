"""What a run was measured with, whichever campaigns it has."""

from pytest_mtp.core.run_report import RunReport
from pytest_mtp.core.sample import Campaign, Circumstances


def circumstances(report: RunReport) -> Circumstances | None:
    """Of the first flag set, else of the first study with a campaign of its own; ``None`` without any."""
    campaigns: tuple[Campaign, ...] = (
        *(one.campaign for one in report.judged),
        *(variant.campaign for study in report.studies for variant in study.variants),
    )
    return campaigns[0].circumstances if campaigns else None
