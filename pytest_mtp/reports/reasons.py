"""Why a campaign got its verdicts: each sentence once, with whom it is about."""

from collections.abc import Iterable, Iterator

from pytest_mtp.core.run_report import Judged
from pytest_mtp.core.verdict import Outcome, Verdict
from pytest_mtp.reports.conclusion import recorded


def verdicts(judged: Judged) -> Iterator[tuple[str, Verdict]]:
    """Every verdict with the class or the speed that it is about."""
    for result in judged.results:
        yield from ((result.prompt_class, verdict) for verdict in (result.speed, result.drafts))
    yield from ((one.rate.value, one.verdict) for one in judged.rates)


def unexcused(judged: Judged) -> Iterator[tuple[str, Verdict]]:
    """The same without missing baselines that this very run recorded."""
    missing = {Outcome.NO_BASELINE} if recorded(judged) else set()
    return ((name, verdict) for name, verdict in verdicts(judged) if verdict.outcome not in missing)


def grouped(told: Iterable[tuple[str, Verdict]]) -> dict[Verdict, tuple[str, ...]]:
    """Each verdict once, with whom it is about, in the order in which they came."""
    found: dict[Verdict, dict[str, None]] = {}
    for name, verdict in told:
        found.setdefault(verdict, {})[name] = None
    return {verdict: tuple(names) for verdict, names in found.items()}


def worth_a_word(verdict: Verdict) -> bool:
    """Whether it is no plain pass: a pass with a cause is a loss that is none, and is said all the same."""
    return not verdict.outcome.blameless or verdict.cause is not None


def reasons(judged: Judged) -> dict[Verdict, tuple[str, ...]]:
    """What is no plain pass and not excused, with whom it is about."""
    return grouped((name, verdict) for name, verdict in unexcused(judged) if worth_a_word(verdict))
