"""A run for the summary page of a workflow: the verdict first, what changed in tables, the rest folded."""

from collections.abc import Iterable, Iterator, Sequence

from pytest_mtp.core.fingerprint import spoken
from pytest_mtp.core.history_reason import quantity
from pytest_mtp.core.history_verdict import HistoryVerdict, LevelChange
from pytest_mtp.core.run_report import Judged, RunReport
from pytest_mtp.core.study import Study
from pytest_mtp.core.verdict import ClassResult, Outcome
from pytest_mtp.reports.comparison import sides
from pytest_mtp.reports.conclusion import Word, conclusion, of_studies, word_of
from pytest_mtp.reports.escaping import for_markdown
from pytest_mtp.reports.markdown import compared_classes, everything, first_line, folded, outcome_and_cause, table
from pytest_mtp.reports.provenance import circumstances
from pytest_mtp.reports.reasons import reasons
from pytest_mtp.reports.studies import NONE, Row, rows
from pytest_mtp.reports.surprise import surprising

MOST_BYTES = 2**20 - 2**16
"""A page takes 2**20 of a step, which may have something of its own to say."""
_CUT = "The rest is too long for this page: see report.json, or report.html."
_CLASSES = ("class", "plain tok/s", "mtp tok/s", "speedup", "limit", "tokens/step", "step cost", "verdict")
_STUDIES = ("suite", "flag set", "values", "compared", "ratio", "bound", "verdict")
_CHANGES = ("series", "was", "is", "change", "since run", "build", "acknowledged")
_SHOWN_CHANGES = 20


def summary(report: RunReport, verdict: HistoryVerdict | None = None) -> str:
    """Markdown of less than a mebibyte; what would make it more is left out at its end, and that is said."""
    text = "\n".join(_open(report, verdict))
    if _bytes(text) > MOST_BYTES:
        return f"{_beginning(text)}\n{_CUT}\n"
    for part in map("\n".join, _folded(report, verdict)):
        if _bytes(text) + _bytes(part) > MOST_BYTES:
            return f"{text}\n{_CUT}\n"
        text = f"{text}\n{part}"
    return f"{text}\n"


def _open(report: RunReport, verdict: HistoryVerdict | None) -> Iterator[str]:
    """What everybody sees."""
    yield from _verdict(report, verdict)
    for judged in report.judged:
        yield from _flag_set(judged)
    if report.studies:
        yield from _studies(report.studies)
    if verdict is not None:
        yield from _history(verdict)


def _folded(report: RunReport, verdict: HistoryVerdict | None) -> Iterator[Iterable[str]]:
    yield everything(report)
    if verdict is not None and verdict.changes:
        yield folded(f"{_count(verdict.changes, 'change', 'changes')} of level in all", _changes(verdict.changes))


def _verdict(report: RunReport, verdict: HistoryVerdict | None) -> Iterator[str]:
    """The word for all, then each flag set and the history with its own."""
    told = [(judged, *conclusion(judged)) for judged in report.judged]
    yield f"## MTP: {word_of(report, verdict).name}"
    yield ""
    for judged, one, said in told:
        blocks = f"{len(judged.campaign.valid)} blocks"
        yield f"- flag set {for_markdown(judged.campaign.flag_set)}: {one.name}, {said}, {blocks}"
    if report.studies:
        worst, said = of_studies(report.studies)
        yield f"- further suites: {worst.name}, {for_markdown(said)}"
    if verdict is not None:
        word, said = (
            (Word.FAIL, _count(verdict.reasons, "loss", "losses"))
            if verdict.red
            else (Word.PASS, "no loss that nobody acknowledged")
        )
        yield f"- history: {word.name}, {said}, {_count(verdict.changes, 'change', 'changes')} of level in all"
    yield ""
    yield _provenance(report)
    yield ""


def _provenance(report: RunReport) -> str:
    around, where = circumstances(report), spoken(report.machine)
    said = [report.profile, *((around.build_label, around.model_label) if around else ()), where]
    return ", ".join(map(for_markdown, [*said, report.created_at]))


def _flag_set(judged: Judged) -> Iterator[str]:
    changed = [one for one in judged.results if _changed(one)]
    said = reasons(judged)
    if not changed and not said and not judged.notices:
        return
    yield f"### Flag set {for_markdown(judged.campaign.flag_set)}"
    yield ""
    if judged.compared is not None:
        yield for_markdown(sides(judged, judged.compared))
        yield ""
        yield from compared_classes(judged)
    elif changed:
        yield from table(_CLASSES, map(_cells, changed))
        yield ""
    for one, names in said.items():
        yield f"- {for_markdown(', '.join(names))}: {one.outcome.value}: {for_markdown(first_line(one.reason))}"
    yield from (f"- note: {for_markdown(notice)}" for notice in judged.notices)
    yield ""


def _changed(result: ClassResult) -> bool:
    return {result.speed.outcome, result.drafts.outcome} != {Outcome.PASS} or result.speed.cause is not None


def _cells(result: ClassResult) -> tuple[str, ...]:
    counts, limit = result.acceptance, result.limit
    worst = result.drafts if result.speed.outcome.blameless and not result.drafts.outcome.blameless else result.speed
    name, why = for_markdown(result.prompt_class), outcome_and_cause(worst)
    if result.speedup is None or counts is None:
        return (name, *("-",) * (len(_CLASSES) - 2), why)
    span = "" if result.low is None or result.high is None else f" \\[{result.low:.2f}, {result.high:.2f}\\]"
    then = "" if result.tau_then is None else f"{result.tau_then:.2f} → "
    return (
        name,
        f"{result.plain_tps:.1f}",
        f"{result.mtp_tps:.1f}",
        f"{result.speedup:.2f}x{span}",
        "none" if limit is None else f"{limit.speedup:.2f}x ({limit.yardstick.value})",
        f"{then}{counts.tau:.2f}",
        f"{result.step_cost:.2f}",
        why,
    )


def _studies(studies: Sequence[Study]) -> Iterator[str]:
    """Every bounded ratio, and a line for a study that has none; below, why and what is to be noted."""
    yield "### Further suites"
    yield ""
    yield from table(_STUDIES, (cells for study in studies for cells in _study_cells(study)))
    yield ""
    for study in studies:
        title, why = for_markdown(study.title), for_markdown(first_line(study.verdict.reason))
        if not study.verdict.outcome.passes:
            yield f"- {study.verdict.outcome.value}: {why}"
        yield from (f"- {title}: note: {for_markdown(said)}" for said in (*study.notices, *study.left_out))
    yield ""


def _study_cells(study: Study) -> Iterator[tuple[str, ...]]:
    named = (for_markdown(study.title), for_markdown(study.flag_set))
    bounded = [row for row in rows(study) if row.outcome is not None]
    yield from ((*named, *_row_cells(row)) for row in bounded)
    if not bounded:
        yield (*named, *(NONE,) * (len(_STUDIES) - 3), outcome_and_cause(study.verdict))


def _row_cells(row: Row) -> tuple[str, ...]:
    values, sides = f"{row.name} {row.first} → {row.second} {row.unit}", " → ".join(row.sides)
    outcome = NONE if row.outcome is None else row.outcome.value
    return (*map(for_markdown, (values, sides, f"{row.ratio} {row.interval}", row.bound)), outcome)


def _history(verdict: HistoryVerdict) -> Iterator[str]:
    open_losses = [one for one in verdict.changes if one.loss and one.acknowledged is None]
    if not (open_losses or verdict.reasons or verdict.surprises or verdict.notices):
        return
    yield "### History"
    yield ""
    yield from (f"- {for_markdown(reason)}" for reason in verdict.reasons)
    yield from (f"- surprise: {for_markdown(f'{one.key} {surprising(one)}')}" for one in verdict.surprises)
    yield from (f"- note: {for_markdown(notice)}" for notice in verdict.notices)
    yield ""
    if open_losses:
        yield from _changes(open_losses[-_SHOWN_CHANGES:])
        yield ""


def _changes(changes: Sequence[LevelChange]) -> Iterator[str]:
    """The newest first: it is what a reader came for."""
    yield from table(_CHANGES, (_change(one) for one in reversed(changes)))


def _change(one: LevelChange) -> tuple[str, ...]:
    seen = one.acknowledged
    return (
        for_markdown(str(one.key)),
        quantity(one.key, one.before),
        quantity(one.key, one.after),
        f"{one.change:+.1%}{' (loss)' if one.loss else ''}",
        for_markdown(one.run),
        for_markdown(one.build),
        "" if seen is None else for_markdown(f"{seen.who}: {seen.reason}"),
    )


def _count(things: Sequence[object], one: str, many: str) -> str:
    return f"{len(things)} {one if len(things) == 1 else many}"


def _bytes(text: str) -> int:
    return len(_encoded(text))


def _encoded(text: str) -> bytes:
    """As it will be written."""
    return text.encode(errors="backslashreplace")


def _beginning(text: str) -> str:
    """The whole lines that fit."""
    return _encoded(text)[: MOST_BYTES - len(_CUT) - 2].decode(errors="ignore").rpartition("\n")[0]
