"""What a workflow shows above its log: one command a line, as GitHub's runner reads them.

A failing test is none of them: it says all that itself. What is said here is easily missed otherwise: answers that
there were none, records to make, and what only the history knows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from pytest_mtp.core.history import Unreadable
from pytest_mtp.core.history_verdict import HistoryVerdict, Surprise
from pytest_mtp.core.run_report import Judged, RunReport
from pytest_mtp.core.study import Study
from pytest_mtp.core.verdict import Outcome
from pytest_mtp.reports.escaping import one_line
from pytest_mtp.reports.reasons import grouped, unexcused
from pytest_mtp.reports.surprise import surprising

MOST = 10
"""Of a kind in one step; the runner drops what is more."""
_LONGEST = 1_000
_SHOWN_NAMES = 20


class Kind(Enum):
    """How loud it is."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True)
class Annotation:
    """One of them; title and text are as somebody wrote them."""

    kind: Kind
    title: str
    text: str

    def __str__(self) -> str:
        return f"::{self.kind.value} title={_property(self.title)}::{_data(self.text)}"


def annotations(report: RunReport, verdict: HistoryVerdict | None = None, unreadable: Sequence[Unreadable] = ()) -> str:
    """A line for each, the loudest first; empty where there is nothing to say."""
    found = [
        *_of_history(verdict, unreadable),
        *(one for judged in report.judged for one in _of_gate(judged)),
        *(one for study in report.studies for one in _of_study(study)),
    ]
    return "".join(f"{one}\n" for kind in Kind for one in _fitting([one for one in found if one.kind is kind]))


_KINDS = {
    Outcome.IMPROVED: Kind.NOTICE,
    Outcome.NO_BASELINE: Kind.NOTICE,
    Outcome.INCONCLUSIVE: Kind.WARNING,
    Outcome.INVALID: Kind.WARNING,
}


def _of_gate(judged: Judged) -> Iterator[Annotation]:
    flag_set = judged.campaign.flag_set
    said = grouped((name, verdict) for name, verdict in unexcused(judged) if verdict.outcome in _KINDS)
    for verdict, names in said.items():
        title = f"MTP: {verdict.outcome.value}, {flag_set}"
        yield Annotation(_KINDS[verdict.outcome], title, f"{_listed(names)}: {verdict.reason}")
    yield from (Annotation(Kind.NOTICE, f"MTP: note, {flag_set}", notice) for notice in judged.notices)


def _of_study(study: Study) -> Iterator[Annotation]:
    """An open verdict, and what could not be asked; what a suite merely notes is in the summary."""
    verdict = study.verdict
    if verdict.outcome in _KINDS:
        yield Annotation(_KINDS[verdict.outcome], f"MTP: {verdict.outcome.value}, {study.flag_set}", verdict.reason)
    title = f"MTP: note, {study.flag_set}"
    yield from (Annotation(Kind.NOTICE, title, f"{study.title}: {said}") for said in study.left_out)


def _of_history(verdict: HistoryVerdict | None, unreadable: Sequence[Unreadable]) -> Iterator[Annotation]:
    for one in unreadable:
        yield Annotation(Kind.WARNING, "MTP: unreadable history", f"{one.name}: {one.why}")
    if verdict is None:
        return
    # No test fails for them, so nobody else says why the run is red.
    yield from (Annotation(Kind.ERROR, "MTP: history", reason) for reason in verdict.reasons)
    yield from (_surprising(one) for one in verdict.surprises if one.loss)
    yield from (Annotation(Kind.NOTICE, "MTP: history", notice) for notice in verdict.notices)


def _surprising(one: Surprise) -> Annotation:
    return Annotation(Kind.WARNING, "MTP: surprise", f"{one.key} {surprising(one)}")


def _fitting(found: list[Annotation]) -> list[Annotation]:
    if len(found) <= MOST:
        return found
    rest = len(found) - (MOST - 1)
    return [*found[: MOST - 1], Annotation(found[0].kind, "MTP: more", f"{rest} more of these: see the summary.")]


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - _SHOWN_NAMES
    return ", ".join([*names[:_SHOWN_NAMES], *([f"{rest} more"] if rest > 0 else [])])


def _data(text: str) -> str:
    """The lines of a text as one; the runner puts them back."""
    cut = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return "%0A".join(one_line(line).replace("%", "%25") for line in cut.split("\n"))


def _property(text: str) -> str:
    """A value between the command and its text, where a colon and a comma end it."""
    shown = one_line(text, 100).replace("%", "%25")
    return shown.replace(":", "%3A").replace(",", "%2C")
