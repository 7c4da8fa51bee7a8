"""Reports whose types are right and whose samples are not whole, as an edited or cut file has them."""

from dataclasses import replace

from pytest_mtp.core.run_report import RunReport


def one_armed(report: RunReport) -> RunReport:
    """The report with the first start of each block alone."""
    campaigns = [one.campaign for one in report.judged]
    cut = [
        replace(one, blocks=tuple(replace(block, starts=block.starts[:1]) for block in one.blocks)) for one in campaigns
    ]
    return replace(
        report, judged=tuple(replace(one, campaign=new) for one, new in zip(report.judged, cut, strict=True))
    )
