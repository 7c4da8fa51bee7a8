"""The verdict in a word, which is the same wherever a run is shown; about one flag set also in a phrase."""

from collections.abc import Iterable, Sequence
from enum import IntEnum

from pytest_mtp.core.history_verdict import HistoryVerdict
from pytest_mtp.core.run_report import Judged, RunReport
from pytest_mtp.core.study import Study
from pytest_mtp.core.verdict import ClassResult, Outcome, Verdict


class Word(IntEnum):
    """How a run went, the worst last: of several, the largest is that of all."""

    PASS = 0
    UNDECIDED = 1
    FAIL = 2
    ERROR = 3


def word_of(report: RunReport, history: HistoryVerdict | None = None) -> Word:
    """The word for a whole run: the worst of its flag sets, of its further suites and of its history."""
    words = [conclusion(judged)[0] for judged in report.judged]
    words += [_of_outcome(study.verdict.outcome) for study in report.studies]
    if history is not None and history.red:
        words.append(Word.FAIL)
    return max(words, default=Word.UNDECIDED)


def conclusion(judged: Judged) -> tuple[Word, str]:
    """The word, and of how many classes and why: what a comma would follow the word with."""
    results, of = judged.results, f"of {len(judged.results)} classes"
    if not results:
        return Word.UNDECIDED, "nothing was measured"
    failed = [one for one in results if one.speed.outcome is Outcome.ERROR]
    if failed:
        return Word.ERROR, f"{len(failed)} {of} without a measurement"
    lost = [one for one in results if _red(one)]
    if lost:
        causes = dict.fromkeys(one.cause.value for one in _reds(lost) if one.cause is not None)
        why = f" ({', '.join(causes)})" if causes else ""
        return Word.FAIL, f"{len(lost)} {of} lost{why}"
    slower = [one.rate.value for one in judged.rates if one.verdict.outcome is Outcome.REGRESSION]
    if slower:
        return Word.FAIL, f"{' and '.join(slower)} lost over all classes"
    return _unlost(judged, of)


def of_studies(studies: Sequence[Study]) -> tuple[Word, str]:
    """The worst word of the further suites, and which of them it is about; there is at least one."""
    word = max(_of_outcome(study.verdict.outcome) for study in studies)
    about = [study.title for study in studies if _of_outcome(study.verdict.outcome) is word]
    if word is Word.PASS:
        untold = sum(study.verdict.outcome is Outcome.NOT_TOLD for study in studies)
        passed = f"{len(studies) - untold} of {len(studies)} passed"
        return word, f"{passed}, {untold} not told" if untold else passed
    return word, f"{len(about)} of {len(studies)} {_OF_STUDIES[word]}: {'; '.join(dict.fromkeys(about))}"


_OF_STUDIES = {
    Word.UNDECIDED: "without an answer",
    Word.FAIL: "lost",
    Word.ERROR: "without a measurement",
}


def _of_outcome(outcome: Outcome) -> Word:
    if outcome is Outcome.ERROR:
        return Word.ERROR
    if outcome.blameless:
        return Word.PASS
    return Word.UNDECIDED if outcome.open else Word.FAIL


def recorded(judged: Judged) -> bool:
    """Whether this very run put the campaign on record, so that no baseline is missing any more."""
    return any(notice.startswith("recorded to") for notice in judged.notices)


def _unlost(judged: Judged, of: str) -> tuple[Word, str]:
    waiting = [one for one in judged.results if one.speed.outcome.open or one.drafts.outcome.open]
    if waiting and recorded(judged) and {one.speed.outcome for one in waiting} == {Outcome.NO_BASELINE}:
        return Word.PASS, f"{len(waiting)} {of} recorded as the baseline"
    if waiting:
        return Word.UNDECIDED, f"{len(waiting)} {of} without an answer"
    open_rates = [one.rate.value for one in judged.rates if one.verdict.outcome.open]
    if open_rates:
        return Word.UNDECIDED, f"{' and '.join(open_rates)} over all classes without an answer"
    gained = sum(one.speed.outcome is Outcome.IMPROVED for one in judged.results)
    return Word.PASS, f"no class lost, {gained} of {len(judged.results)} faster" if gained else "no class lost"


def _red(result: ClassResult) -> bool:
    return any(_reds((result,)))


def _reds(results: Iterable[ClassResult]) -> Iterable[Verdict]:
    both = (verdict for one in results for verdict in (one.speed, one.drafts))
    return (verdict for verdict in both if verdict.outcome.fails)
