"""The verdict of a run in one sentence: what lost and which factor moved, or that nothing did, with counts."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_mtp.core.cause import Cause
from pytest_mtp.core.history_verdict import HistoryVerdict
from pytest_mtp.core.run_report import Judged, RunReport
from pytest_mtp.core.verdict import ClassResult, Outcome, Verdict
from pytest_mtp.reports.html.mark import Mark, mark_of
from pytest_mtp.reports.line import Tone

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


@dataclass(frozen=True, slots=True)
class Headline:
    """The sentence, and how it looks."""

    sentence: str
    tone: Tone
    word: str
    """One word before it: LOSS, PASS, UNDECIDED or ERROR."""
    counts: tuple[tuple[Mark, int], ...]
    """How many classes have each outcome."""


def headline(report: RunReport, history: HistoryVerdict | None) -> Headline:
    """The verdict of the whole run; an error goes before a loss, a loss before an open answer."""
    results = [(judged, result) for judged in report.judged for result in judged.results]
    counts = Counter(result.speed.outcome for _, result in results)
    word, tone, sentence = next(_verdicts(report, results, history))
    marks = tuple((mark_of(outcome), counts[outcome]) for outcome in Outcome if counts[outcome])
    return Headline(sentence, tone, word, marks)


def reasons(report: RunReport) -> tuple[tuple[Mark, str, str], ...]:
    """Of every verdict that is no plain pass its mark, whose it is, and why; the same sentence once for all."""
    said: dict[Verdict, list[str]] = {}
    for judged in report.judged:
        told = [(one.prompt_class, verdict) for one in judged.results for verdict in (one.speed, one.drafts)]
        told += [(f"all {one.rate.value}", one.verdict) for one in judged.rates]
        for name, verdict in told:
            # A pass with a cause is a loss that is none: it is said all the same.
            if not verdict.outcome.passes or verdict.cause is not None:
                said.setdefault(verdict, []).append(_name(report, judged, name))
    return tuple((mark_of(one), ", ".join(dict.fromkeys(names)), one.reason) for one, names in said.items())


def loss(judged: Judged, result: ClassResult) -> float | None:
    """The share of speed that a class lost against what it is held against; ``None`` where that is not told."""
    if result.against is not None:
        return 1 - result.against.mtp
    if result.speedup is None or result.limit is None:
        return None
    return 1 - result.speedup / (result.limit.baseline or result.limit.speedup)


def _verdicts(
    report: RunReport, results: Sequence[tuple[Judged, ClassResult]], history: HistoryVerdict | None
) -> Iterator[tuple[str, Tone, str]]:
    """What can be said, the gravest first."""
    outcomes = [result.speed.outcome for _, result in results]
    of_all = f"of {_classes(len(results))}"
    failed = outcomes.count(Outcome.ERROR)
    if failed:
        yield "ERROR", Tone.BAD, f"{failed} {of_all} could not be measured."
    lost = [(judged, one) for judged, one in results if one.speed.outcome.lost or one.drafts.outcome.lost]
    if lost:
        yield "LOSS", Tone.BAD, f"{len(lost)} {of_all} lost: {_worst(report, lost)}.{_moved(lost)}"
    slower = [rate for judged in report.judged for rate in judged.rates if rate.verdict.outcome is Outcome.REGRESSION]
    if slower:
        said = " and ".join(f"{one.rate.value} fell by {1 - one.change:.1%}" for one in slower)
        yield "LOSS", Tone.BAD, f"No class lost by itself, but over all classes {said}."
    if history is not None and history.red:
        count = len(history.reasons)
        yield "LOSS", Tone.BAD, f"This run alone shows no loss, the history shows {count if count > 1 else 'one'}."
    yield from _without_loss(report, outcomes, of_all)


def _without_loss(report: RunReport, outcomes: Sequence[Outcome], of_all: str) -> Iterator[tuple[str, Tone, str]]:
    new = outcomes.count(Outcome.NO_BASELINE)
    if outcomes and new == len(outcomes):
        yield "UNDECIDED", Tone.OPEN, f"{_classes(new)} measured, with neither baseline nor floor to hold them against."
    waiting = sum(outcome.open for outcome in outcomes)
    if waiting:
        yield "UNDECIDED", Tone.OPEN, f"No loss is proven, but {waiting} {of_all} {_have(waiting)} no answer."
    rates = [rate.rate.value for judged in report.judged for rate in judged.rates if rate.verdict.outcome.open]
    if rates:
        yield (
            "UNDECIDED",
            Tone.OPEN,
            f"No class lost; {' and '.join(rates)} over all classes {_have(len(rates))} no answer.",
        )
    gained = outcomes.count(Outcome.IMPROVED)
    faster = f", {gained} {'is' if gained == 1 else 'are'} faster" if gained else ""
    if not outcomes:
        yield "UNDECIDED", Tone.OPEN, "Nothing was measured."
    kept = "No class of the head lost" if any(one.compared for one in report.judged) else "Nothing was lost"
    yield "PASS", Tone.GOOD, f"{kept}: {len(outcomes)} {of_all} kept their speed{faster}."


def _worst(report: RunReport, lost: Sequence[tuple[Judged, ClassResult]]) -> str:
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


def _moved(lost: Sequence[tuple[Judged, ClassResult]]) -> str:
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
