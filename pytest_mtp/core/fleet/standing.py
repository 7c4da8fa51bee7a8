"""Where each cell of a fleet is, and what all of them together come to.

A report has every sample; of a finished cell only what is shown stays in memory, so that a controller holds a thousand.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from pytest_mtp.core.fingerprint import spoken
from pytest_mtp.core.fleet.cell import Cell, CellResult, State
from pytest_mtp.core.run_report import RunReport
from pytest_mtp.core.status import UNDECIDED
from pytest_mtp.core.verdict import ClassResult, Outcome, Verdict

_LOST = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """What is kept of a finished cell."""

    status: int
    started_at: str
    ended_at: str
    said: str
    results: tuple[ClassResult, ...] = ()
    others: tuple[tuple[str, Verdict], ...] = ()
    """Verdicts of the further suites and of speeds over all classes, with what each is about."""
    machine: str = ""
    """In words, by its own facts."""
    build: str = ""

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """All of them."""
        of_classes = [verdict for one in self.results for verdict in (one.speed, one.drafts)]
        return (*of_classes, *(verdict for _, verdict in self.others))

    @property
    def fails(self) -> bool:
        """Whether something is held against what it measured; a signal or a lost node is nothing of that kind."""
        if any(one.outcome.fails for one in self.verdicts):
            return True
        return self.status > 0 and self.status != UNDECIDED

    @property
    def open(self) -> bool:
        """Whether it gave no answer, whatever its status says; a baseline that it recorded itself lacks nothing."""
        if self.fails:
            return False
        outcomes = {one.outcome for one in self.verdicts}
        return self.status != 0 or not outcomes or any(one.open for one in outcomes - {Outcome.NO_BASELINE})

    @property
    def minutes(self) -> float | None:
        """How long it took; ``None`` where its times are none, or in no order."""
        try:
            took = datetime.fromisoformat(self.ended_at) - datetime.fromisoformat(self.started_at)
        except (ValueError, TypeError):
            return None
        minutes = took.total_seconds() / 60
        return minutes if minutes >= 0 else None  # a clock was set back meanwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One cell now."""

    cell: Cell
    state: State = State.WAITING
    worker: str = ""
    conclusion: Conclusion | None = None
    """``None`` while it is not over."""

    def heard(self, state: State, worker: str) -> "Standing":
        """The same after a change; what is done stays done."""
        return self if self.state.over else replace(self, state=state, worker=worker or self.worker)

    def over(self, result: CellResult, conclusion: Conclusion) -> "Standing":
        """The same with its result."""
        return replace(self, state=result.state, worker=result.worker, conclusion=conclusion)


def conclusion(result: CellResult) -> Conclusion:
    """What a result comes to, its report judged again from its samples; a stranger's may raise ArithmeticError etc."""
    plain = Conclusion(
        status=result.status, started_at=result.started_at, ended_at=result.ended_at, said=result.said
    )  # fmt: skip
    return plain if result.report is None else _judged(plain, result.report.rejudged())


def exit_status(standings: Iterable[Standing]) -> int:
    """As of a run: 1 where a cell lost, 17 where one is open or was lost with its node, else 0."""
    found = list(standings)
    if any(one.conclusion is not None and one.conclusion.fails for one in found):
        return _LOST
    settled = all(one.conclusion is not None and not one.conclusion.open for one in found)
    return 0 if settled else UNDECIDED


def _judged(plain: Conclusion, report: RunReport) -> Conclusion:
    rates = [(f"all {rate.rate.value}", rate.verdict) for one in report.judged for rate in one.rates]
    studies = [(study.title, study.verdict) for study in report.studies]
    builds = dict.fromkeys(one.campaign.circumstances.build_label for one in report.judged)
    return replace(
        plain,
        results=tuple(result for one in report.judged for result in one.results),
        others=(*rates, *studies),
        machine=spoken(report.machine),
        build=", ".join(builds),
    )
