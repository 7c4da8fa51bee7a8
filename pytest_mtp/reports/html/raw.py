"""What the page carries for programs: the whole report, as long as it is not too large to be carried."""

from dataclasses import dataclass, replace
from typing import Any

from pytest_mtp.core.baseline import Recorded
from pytest_mtp.core.run_report import Judged, RunReport
from pytest_mtp.core.sample import Block, Campaign, Start
from pytest_mtp.core.study import Study

_MOST_BYTES = 1_500_000


@dataclass(frozen=True, slots=True)
class Raw:
    """The report as JSON, and what it lacks."""

    json: str
    left_out: str
    """In words; empty: nothing."""


def raw(report: RunReport, most_bytes: int = _MOST_BYTES) -> Raw:
    """The report for a ``script`` element: whole, else without logs and readings, else without single answers."""
    whole = as_script(report)
    if len(whole) <= most_bytes:
        return Raw(whole, "")
    lighter = as_script(_mapped(report, answers=True))
    if len(lighter) <= most_bytes:
        return Raw(lighter, "the servers' logs and the single readings of the cards")
    lightest = as_script(_mapped(report, answers=False))
    return Raw(lightest, "the single answers, the servers' logs and the single readings of the cards")


def as_script(value: Any) -> str:
    """JSON that no HTML parser takes for markup, whatever texts it holds."""
    import msgspec

    try:
        text = msgspec.json.encode(value, order="deterministic").decode()
    except UnicodeEncodeError:
        text = msgspec.json.encode(_spelled(msgspec.to_builtins(value)), order="deterministic").decode()
    # These characters are only in JSON's strings, where an escape is the same.
    for special in "<>&\u2028\u2029":
        text = text.replace(special, f"\\u{ord(special):04x}")
    return text


def _spelled(value: Any) -> Any:
    """The value with stray bytes of its texts spelled out: no file of JSON can hold them."""
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    if isinstance(value, dict):
        return {_spelled(name): _spelled(one) for name, one in value.items()}
    return [_spelled(one) for one in value] if isinstance(value, list | tuple) else value


def _mapped(report: RunReport, *, answers: bool) -> RunReport:
    return replace(
        report,
        judged=tuple(_judged(one, answers=answers) for one in report.judged),
        studies=tuple(_study(one, answers=answers) for one in report.studies),
    )


def _study(one: Study, *, answers: bool) -> Study:
    variants, again = (
        tuple(replace(each, campaign=_lighter(each.campaign, answers=answers)) for each in told)
        for told in (one.variants, one.again)
    )
    return replace(one, variants=variants, again=again)


def _lighter(campaign: Campaign, *, answers: bool) -> Campaign:
    return replace(campaign, blocks=tuple(_block(block, answers=answers) for block in campaign.blocks))


def _judged(one: Judged, *, answers: bool) -> Judged:
    def lighter(campaign: Campaign) -> Campaign:
        return _lighter(campaign, answers=answers)

    compared = one.compared
    if compared is not None:
        control = lighter(compared.control) if compared.control else None
        compared = replace(compared, base=lighter(compared.base), control=control)
    sessions = tuple(Recorded(old.recorded_at, old.recorder, lighter(old.campaign)) for old in one.sessions)
    again = lighter(one.again) if one.again else None
    return replace(one, campaign=lighter(one.campaign), sessions=sessions, compared=compared, again=again)


def _block(block: Block, *, answers: bool) -> Block:
    return replace(block, starts=tuple(_start(one, answers=answers) for one in block.starts))


def _start(start: Start, *, answers: bool) -> Start:
    telemetry = replace(start.telemetry, readings=()) if start.telemetry else None
    return replace(start, telemetry=telemetry, log_tail="", samples=start.samples if answers else ())
