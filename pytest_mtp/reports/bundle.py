"""Everything that ``--mtp-out DIR`` holds beside the report itself, as texts by file name."""

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_mtp.core.history import Series, Unreadable
from pytest_mtp.core.history_verdict import HistoryVerdict
from pytest_mtp.core.run_report import RunReport
from pytest_mtp.errors import SettingsError
from pytest_mtp.reports.annotations import annotations
from pytest_mtp.reports.bencher import bencher
from pytest_mtp.reports.bigger import bigger
from pytest_mtp.reports.escaping import for_log
from pytest_mtp.reports.summary import summary
from pytest_mtp.reports.terminal import lines

_WIDTH = 80


@dataclass(frozen=True, slots=True)
class Bundle:
    """The texts, and what could not be among them, in sentences."""

    texts: dict[str, str]
    notices: tuple[str, ...] = ()


def bundle(
    report: RunReport,
    series: Sequence[Series] = (),
    verdict: HistoryVerdict | None = None,
    unreadable: Sequence[Unreadable] = (),
) -> Bundle:
    """Every text of this run; without the extra ``report`` the page is left out, and that is a notice."""
    texts = {
        "summary.md": summary(report, verdict),
        "annotations.txt": annotations(report, verdict, unreadable),
        "bigger.json": bigger(report),
        "bencher.json": bencher(report),
        "verdict.txt": "".join(f"{for_log(line.text)}\n" for line in lines(report, _WIDTH)),
    }
    try:
        return Bundle({**texts, "report.html": _page(report, series, verdict)})
    except SettingsError as error:
        return Bundle(texts, (f"report.html was left out. {error}",))


def _page(report: RunReport, series: Sequence[Series], verdict: HistoryVerdict | None) -> str:
    from pytest_mtp.reports.html.page import page

    return page(report, series, verdict)
