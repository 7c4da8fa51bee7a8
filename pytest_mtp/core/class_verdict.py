"""The two verdicts of one measured class, in sentences that can be read aloud."""

from dataclasses import dataclass
from enum import Enum

from pytest_mtp.core.cause import Cause, Shift
from pytest_mtp.core.decision import Evidence, Finding
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.speedup import Estimate
from pytest_mtp.core.tau import Acceptance
from pytest_mtp.core.verdict import Limit, Outcome, Verdict

_ACCEPTANCE_FLOOR = 0.01  # a head that agrees less than this often is broken, whatever the model (llama.cpp#27572)


class Recurrence(Enum):
    """What became of a loss in fresh starts."""

    NOT_ASKED = "not asked"
    """Nothing was lost, or a stored campaign is judged that was not repeated."""
    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    OPEN = "open"
    """Too few valid blocks were measured again."""


def draft_verdict(counts: Acceptance, then: float, speed: Verdict, gate: Gate, *, alone: bool = False) -> Verdict:
    """The verdict about tokens per step: red only with a loss of speed, since a good change may lower it.

    ``then`` is what they were; ``alone`` makes a loss red by itself, where a count follows from arithmetic.
    """
    change = counts.tau / then - 1
    said = f"{_counted(counts)}; tokens per step were {then:.2f} ({change:+.1%})"
    if change >= -gate.tau_tolerance:
        return Verdict(outcome=Outcome.PASS, reason=said)
    if speed.outcome is Outcome.REGRESSION or alone:
        return Verdict(outcome=Outcome.REGRESSION, reason=said, cause=Cause.DRAFT_QUALITY)
    if speed.outcome.open:
        return Verdict(outcome=Outcome.INCONCLUSIVE, reason=f"{said}; whether speed was lost is undecided")
    return Verdict(outcome=Outcome.PASS, reason=f"{said}; the speed held, so this is said and not judged")


def _against_floor(counts: Acceptance) -> Verdict:
    """The verdict where nothing is known of before."""
    said = _counted(counts)
    if (counts.share or 0.0) < _ACCEPTANCE_FLOOR:
        reason = f"{said}: below the floor of {_ACCEPTANCE_FLOOR:.0%}"
        return Verdict(outcome=Outcome.REGRESSION, reason=reason, cause=Cause.DRAFT_QUALITY)
    return Verdict(outcome=Outcome.PASS, reason=f"{said}; no baseline, above the floor of {_ACCEPTANCE_FLOOR:.0%}")


def _counted(counts: Acceptance) -> str:
    return f"tokens per step {counts.tau:.2f}, {counts.accepted} of {counts.drafted} drafts accepted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One measured class, what it is held against, and what the evidence says."""

    now: Estimate
    counts: Acceptance | None
    """``None`` where the engine does not tell its drafts."""
    limit: Limit | None
    tau_then: float | None
    evidence: Evidence | None
    """``None`` exactly where there is no limit."""
    gate: Gate
    stopped: str | None
    shift: Shift | None = None
    """What moved since the baseline; ``None`` without one."""
    recurrence: Recurrence = Recurrence.NOT_ASKED
    fresh_blocks: int = 0
    """Valid blocks in which a loss was looked for again."""

    @property
    def level(self) -> float:
        """The level of the interval that is shown: the one that decided."""
        return self.evidence.level if self.evidence else 1 - 2 * self.gate.alpha_look

    def speed(self) -> Verdict:
        """The verdict about the speedup, with the whole interval in its reason."""
        if self.limit is None or self.evidence is None:
            reason = (
                f"speedup {self.now.ratio:.2f}x over {self.now.blocks} blocks, with neither baseline nor floor "
                "to hold it against; record one with --mtp-update-baselines=new"
            )
            return Verdict(outcome=Outcome.NO_BASELINE, reason=reason)
        measured = (
            f"speedup {self.now.ratio:.2f}x [{self.evidence.low:.2f}, {self.evidence.high:.2f}] "
            f"({self.level:.1%} interval, {self.now.blocks} blocks)"
        )
        match self.evidence.finding:
            case Finding.BELOW:
                return self._below(f"{measured} is below {self.limit}")
            case Finding.OPEN:
                if self.stopped is not None:
                    said = f"{measured} was not judged by {self.limit}: {self.stopped}"
                    return Verdict(outcome=Outcome.INCONCLUSIVE, reason=said)
                said = f"{measured} straddles {self.limit}; {self._why_open()}"
                return Verdict(outcome=Outcome.INCONCLUSIVE, reason=said)
            case Finding.ABOVE if self._improved(self.evidence):
                reason = f"{measured} is above the baseline{self._moved()}; record it: --mtp-update-baselines=all"
                return Verdict(outcome=Outcome.IMPROVED, reason=reason)
            case Finding.ABOVE:
                return Verdict(outcome=Outcome.PASS, reason=f"{measured} is above {self.limit}{self._moved()}")

    def _below(self, said: str) -> Verdict:
        """A loss is red when it recurs, and when the mtp arm shares in it."""
        if self.shift is not None and self.shift.excused(self.gate.tps_tolerance):
            reason = f"{said}, but the mtp arm held: only the plain arm got faster{self._moved()}"
            return Verdict(outcome=Outcome.PASS, reason=reason, cause=Cause.PLAIN_FASTER)
        match self.recurrence:
            case Recurrence.REFUTED:
                reason = f"{said}, and not in {self.fresh_blocks} blocks of fresh starts: a loss that does not recur"
                return Verdict(outcome=Outcome.INCONCLUSIVE, reason=reason)
            case Recurrence.OPEN:
                reason = f"{said}; it could not be measured again in fresh starts: {self.stopped or 'too few blocks'}"
                return Verdict(outcome=Outcome.INCONCLUSIVE, reason=reason)
            case Recurrence.CONFIRMED:
                said = f"{said}, and so in {self.fresh_blocks} blocks of fresh starts"
        return Verdict(outcome=Outcome.REGRESSION, reason=f"{said}{self._moved()}", cause=self._cause())

    def drafts(self, speed: Verdict) -> Verdict:
        """The verdict about tokens per step."""
        if self.counts is None:
            reason = "the engine does not tell its drafts, so whether as many are accepted is not known"
            return Verdict(outcome=Outcome.NOT_TOLD, reason=reason)
        if self.tau_then is None:
            return _against_floor(self.counts)
        return draft_verdict(self.counts, self.tau_then, speed, self.gate, alone=self._by_arithmetic)

    @property
    def _by_arithmetic(self) -> bool:
        """Whether tau is held against a phantom's arithmetic, which needs no loss of speed to be right."""
        return self.limit is None or self.limit.baseline is None

    def _cause(self) -> Cause | None:
        """Which factor of S = tau / c was lost; without a tau to compare with, only the step can be blamed."""
        if self.counts is None:
            return None
        if self.shift is not None:
            return self.shift.cause()
        lost = self.tau_then is not None and self.counts.tau < self.tau_then * (1 - self.gate.tau_tolerance)
        return Cause.DRAFT_QUALITY if lost else Cause.STEP_COST

    def _why_open(self) -> str:
        if self.now.blocks >= self.gate.looks[-1]:
            return "more blocks or a quieter machine decide"
        return "measuring ended early, with the loss of another class"

    def _improved(self, evidence: Evidence) -> bool:
        baseline = self.limit.baseline if self.limit else None
        return baseline is not None and evidence.low > baseline * (1 + self.gate.tolerance)

    def _moved(self) -> str:
        """What changed since the baseline, factor by factor."""
        if self.limit is None or self.limit.baseline is None:
            return ""
        change = self.now.ratio / self.limit.baseline - 1
        said = f", was {self.limit.baseline:.2f}x ({change:+.1%})"
        return said if self.shift is None else f"{said}: {self.shift}"
