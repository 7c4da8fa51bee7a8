"""The verdict of a run in one sentence: what lost and which factor moved, or that nothing did, with counts."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from pytest_mtp.core.cause import Cause
from pytest_mtp.core.history_verdict import HistoryVerdict
from pytest_mtp.core.run_report import Judged, RunReport
from pytest_mtp.core.study import Study
from pytest_mtp.core.verdict import ClassResult, Outcome
from pytest_mtp.reports.conclusion import Word, of_studies, word_of
from pytest_mtp.reports.html.mark import Mark, mark_of
from pytest_mtp.reports.line import Tone
from pytest_mtp.reports.reasons import grouped, unexcused, worth_a_word
from pytest_mtp.reports.studies import whose

_NAMED = 3
_MOVED = {
    Cause.DRAFT_QUALITY: "fewer drafts are accepted",
    Cause.STEP_COST: "a step became dearer",
    Cause.PLAIN_FASTER: "the plain arm became faster",
    Cause.WHOLE_ENGINE: "the whole engine became slower",
    Cause.PROMPT_PROCESSING: "prompts are processed more slowly",
    Cause.ENVIRONMENT: "the machine changed",
    Cause.START_FAILURE: "the mtp arm does not start",
}


_TONES = {Word.PASS: Tone.GOOD, Word.UNDECIDED: Tone.OPEN, Word.FAIL: Tone.BAD, Word.ERROR: Tone.BAD}


@dataclass(frozen=True, slots=True)
class Headline:
    """The sentence, and how it looks."""

    sentence: str
    word: Word
    """That goes before it."""
    counts: tuple[tuple[Mark, int], ...]
    """How many classes have each outcome."""

    @property
    def tone(self) -> Tone:
        """By the word."""
        return _TONES[self.word]


def headline(report: RunReport, history: HistoryVerdict | None) -> Headline:
    """The verdict of the whole run; an error goes before a loss, a loss before an open answer."""
    results = [(judged, result) for judged in report.judged for result in judged.results]
    counts = Counter(result.speed.outcome for _, result in results)
    marks = tuple((mark_of(outcome), counts[outcome]) for outcome in Outcome if counts[outcome])
    return Headline(" ".join(_sentences(report, results, history)), word_of(report, history), marks)


def reasons(report: RunReport) -> tuple[tuple[Mark, str, str], ...]:
    """Of every verdict that is no plain pass its mark, whose it is, and why; the same sentence once for all."""
    return (*_of_gate(report), *map(_of_study, filter(_not_passed, report.studies)))


def _not_passed(study: Study) -> bool:
    return not study.verdict.outcome.blameless


def _of_study(study: Study) -> tuple[Mark, str, str]:
    reason = study.verdict.reason.removeprefix(f"{study.title}: ")
    return mark_of(study.verdict), whose(study), reason


def _of_gate(report: RunReport) -> tuple[tuple[Mark, str, str], ...]:
    said = grouped(
        (_name(report, judged, name), verdict)
        for judged in report.judged
        for name, verdict in unexcused(judged)
        if worth_a_word(verdict)
    )
    return tuple((mark_of(one), ", ".join(names), one.reason) for one, names in said.items())


def loss(judged: Judged, result: ClassResult) -> float | None:
    """The share of speed that a class lost against what it is held against; ``None`` where that is not told."""
    if result.against is not None:
        return 1 - result.against.mtp
    if result.speedup is None or result.limit is None:
        return None
    return 1 - result.speedup / (result.limit.baseline or result.limit.speedup)


_Results = Sequence[tuple[Judged, ClassResult]]


def _sentences(report: RunReport, results: _Results, history: HistoryVerdict | None) -> Iterator[str]:
    """What the gate says, if there was one, and what the further suites say."""
    of_gate = word_of(replace(report, studies=()), history)
    if report.judged or not report.studies or of_gate is Word.FAIL:
        yield _SENTENCES[of_gate](report, results, history)
    if report.studies:
        yield f"Further suites: {of_studies(report.studies)[1]}."


def _error(_: RunReport, results: _Results, __: HistoryVerdict | None) -> str:
    failed = sum(one.speed.outcome is Outcome.ERROR for _, one in results)
    return f"{failed} of {_classes(len(results))} could not be measured."


def _fail(report: RunReport, results: _Results, history: HistoryVerdict | None) -> str:
    lost = [(judged, one) for judged, one in results if one.speed.outcome.lost or one.drafts.outcome.lost]
    if lost:
        return f"{len(lost)} of {_classes(len(results))} lost: {_worst(report, lost)}.{_moved(lost)}"
    slower = [rate for judged in report.judged for rate in judged.rates if rate.verdict.outcome is Outcome.REGRESSION]
    if slower:
        said = " and ".join(f"{one.rate.value} fell by {1 - one.change:.1%}" for one in slower)
        return f"No class lost by itself, but over all classes {said}."
    count = len(history.reasons) if history is not None else 0
    return f"This run alone shows no loss, the history shows {count if count > 1 else 'one'}."


def _undecided(report: RunReport, results: _Results, _: HistoryVerdict | None) -> str:
    if not results:
        return "Nothing was measured."
    if all(one.speed.outcome is Outcome.NO_BASELINE for _, one in results):
        return f"{_classes(len(results))} measured, with neither baseline nor floor to hold them against."
    waiting = sum(one.speed.outcome.open or one.drafts.outcome.open for _, one in results)
    if waiting:
        return f"No loss is proven, but {waiting} of {_classes(len(results))} {_have(waiting)} no answer."
    rates = [rate.rate.value for judged in report.judged for rate in judged.rates if rate.verdict.outcome.open]
    return f"No class lost; {' and '.join(rates)} over all classes {_have(len(rates))} no answer."


def _pass(report: RunReport, results: _Results, _: HistoryVerdict | None) -> str:
    outcomes = [one.speed.outcome for _, one in results]
    new, gained = outcomes.count(Outcome.NO_BASELINE), outcomes.count(Outcome.IMPROVED)
    of_all, first = _classes(len(outcomes)), f", {new} recorded as the baseline" if new else ""
    if new == len(outcomes):
        return f"{new} of {of_all} recorded as the baseline."
    faster = f", {gained} {'is' if gained == 1 else 'are'} faster" if gained else ""
    kept = "No class of the head lost" if any(one.compared for one in report.judged) else "Nothing was lost"
    return f"{kept}: {len(outcomes) - new} of {of_all} kept their speed{faster}{first}."


_SENTENCES: dict[Word, Callable[[RunReport, _Results, HistoryVerdict | None], str]] = {
    Word.ERROR: _error,
    Word.FAIL: _fail,
    Word.UNDECIDED: _undecided,
    Word.PASS: _pass,
}


def _worst(report: RunReport, lost: _Results) -> str:
    """The classes that lost most, with how much."""
    order = sorted(lost, key=lambda one: -(loss(*one) or 0.0))
    named = [_loss(report, *one) for one in order[:_NAMED]]
    rest = [f"{len(order) - _NAMED} more"] if len(order) > _NAMED else []
    *first, last = [*named, *rest]
    return f"{', '.join(first)} and {last}" if first else last


def _loss(report: RunReport, judged: Judged, result: ClassResult) -> str:
    share, name = loss(judged, result), _name(report, judged, result.prompt_class)
    if result.speed.outcome is Outcome.NOT_EXERCISED:
        return f"{name} drafted nothing"
    if not result.speed.outcome.lost:
        return f"{name} in accepted drafts"
    return name if share is None or share <= 0 else f"{name} by {share:.1%}"


def _moved(lost: _Results) -> str:
    found = [one.speed.cause or one.drafts.cause for _, one in lost]
    causes = dict.fromkeys(_MOVED[cause] for cause in found if cause is not None)
    said = " and ".join(causes)
    return f" {said[0].upper()}{said[1:]}." if said else ""


def _name(report: RunReport, judged: Judged, name: str) -> str:
    return f"{judged.campaign.flag_set}/{name}" if len(report.judged) > 1 else name


def _classes(count: int) -> str:
    return f"{count} class{'es' if count != 1 else ''}"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"
