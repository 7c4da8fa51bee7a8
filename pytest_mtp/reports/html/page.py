"""The report as one HTML file: no request leaves it, no script but its own runs, and without that it reads as well."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_mtp.core.history import Series
from pytest_mtp.core.history_verdict import HistoryVerdict
from pytest_mtp.core.run_report import Judged, RunReport
from pytest_mtp.errors import SettingsError
from pytest_mtp.reports.comparison import sides
from pytest_mtp.reports.escaping import one_line
from pytest_mtp.reports.html import blocks, circumstances, decomposition, positions, speed_chart
from pytest_mtp.reports.html.headline import headline, reasons
from pytest_mtp.reports.html.past import past
from pytest_mtp.reports.html.raw import as_script, raw
from pytest_mtp.reports.html.speed_table import Table, rate_table, sentences, speed_table
from pytest_mtp.reports.html.studies import study_part, surroundings
from pytest_mtp.reports.provenance import circumstances as measured_with

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagSetPart:
    """What the page shows of one campaign."""

    title: str
    notices: tuple[str, ...]
    compared: bool
    speeds: speed_chart.Chart | None
    table: Table
    rates: Table | None
    sentences: tuple[str, ...]
    """What the campaign was worth: losses that it could have found, and its baseline."""
    decomposition: decomposition.Chart | None
    blocks: blocks.Chart | None
    positions: tuple[positions.Bars, ...]
    facts: tuple[circumstances.Facts, ...]
    commands: tuple[circumstances.Command, ...]


def page(report: RunReport, history: Sequence[Series] = (), verdict: HistoryVerdict | None = None) -> str:
    """The whole file as text; SettingsError where jinja2 is not installed.

    ``report`` is shown as it was judged: a stored one is to be judged again before.
    """
    environment = templates()
    script = environment.get_template("script.js.j2").render()
    classes = tuple(name for judged in report.judged for name in judged.campaign.classes)
    parts = tuple(_part(judged) for judged in report.judged)
    told = past(history, verdict, tuple(dict.fromkeys(classes)))
    return environment.get_template("page.html.j2").render(
        report=report,
        headline=headline(report, verdict),
        reasons=reasons(report),
        measured_with=measured_with(report),
        parts=parts,
        studies=tuple(map(study_part, report.studies)),
        around=(*parts, *surroundings(report)),
        past=told,
        past_json=as_script(told.data) if told else "",
        raw=raw(report),
        script=script,
        script_hash=_hash(script),
    )


def templates() -> "Environment":
    """The templates of the pages; InputError where jinja2 is not installed."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise SettingsError("An HTML report needs jinja2: pip install 'pytest-mtp[report]'.") from error
    return Environment(
        loader=PackageLoader("pytest_mtp.reports.html"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: object) -> object:
    """Words without what moves a cursor or turns the line round; it runs before they are escaped."""
    if type(value) is not str or value.isprintable():
        return value
    return "\n".join(one_line(line).rstrip() for line in value.split("\n"))


def _hash(script: str) -> str:
    """By this the page's own policy knows its script."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _part(judged: Judged) -> FlagSetPart:
    campaign, compared = judged.campaign, judged.compared
    title = f"Flag set {campaign.flag_set}"
    return FlagSetPart(
        title=title if compared is None else f"{title}: {sides(judged, compared)}",
        notices=(*judged.notices, *([campaign.stopped] if campaign.stopped else [])),
        compared=compared is not None,
        speeds=speed_chart.chart(judged),
        table=speed_table(judged),
        rates=rate_table(judged),
        sentences=tuple(sentences(judged)),
        decomposition=decomposition.chart(judged),
        blocks=blocks.chart(judged),
        positions=positions.bars(judged),
        facts=circumstances.facts(judged),
        commands=circumstances.commands(judged),
    )
