"""From a campaign and what it is held against to a verdict per prompt class and per speed."""

from dataclasses import dataclass

from pytest_mtp.core.amount import counted
from pytest_mtp.core.cause import Cause, Shift, cost_changes
from pytest_mtp.core.class_verdict import Recurrence, Subject
from pytest_mtp.core.decision import Evidence, Finding, recurring, settled, unpaid, weigh
from pytest_mtp.core.environment import poorer_machine
from pytest_mtp.core.factors import Factors, factors_of
from pytest_mtp.core.power import detectable
from pytest_mtp.core.rate import Doubt, RateResult, judge_rates, rate_changes
from pytest_mtp.core.sample import ArmFailure, Campaign
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.speedup import FEWEST_BLOCKS, speedup
from pytest_mtp.core.tau import first_difference
from pytest_mtp.core.verdict import ClassResult, Outcome, Verdict
from pytest_mtp.core.yardsticks import Yardsticks


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a campaign comes to."""

    results: tuple[ClassResult, ...]
    rates: tuple[RateResult, ...] = ()
    """The speeds of both arms and of prompts against the recorded ones; empty without a baseline."""


def enough(campaign: Campaign, yardsticks: Yardsticks) -> bool:
    """Whether measuring may stop: at a look whose evidence settles it, or after the last look."""
    blocks = len(campaign.valid)
    if campaign.failures or blocks >= yardsticks.gate.looks[-1]:
        return True
    if blocks not in yardsticks.gate.looks:
        return False
    return settled(_evidence(campaign, yardsticks))


def flagged(campaign: Campaign, yardsticks: Yardsticks) -> tuple[str, ...]:
    """The classes that fresh starts must confirm before anything is red; all, where only the engine's speed fell."""
    if campaign.failures or len(campaign.valid) < FEWEST_BLOCKS:
        return ()
    evidence = _evidence(campaign, yardsticks)
    below = tuple(name for name, one in evidence.items() if one.finding is Finding.BELOW)
    if below:
        return below
    rates = _rates(campaign, yardsticks, None)
    return campaign.classes if any(one.verdict.outcome is Outcome.REGRESSION for one in rates) else ()


def judge(campaign: Campaign, yardsticks: Yardsticks, again: Campaign | None = None) -> Judgement:
    """The verdicts of a campaign; pure, so that a stored one is judged again without a server.

    ``again`` holds the flagged classes in fresh starts: what is below its limit there too is red.
    """
    case = _Case(campaign, yardsticks, again)
    return Judgement(
        results=tuple(case.result(name) for name in campaign.classes),
        rates=() if campaign.failures else _rates(campaign, yardsticks, again),
    )


def _evidence(campaign: Campaign, yardsticks: Yardsticks) -> dict[str, Evidence]:
    limits = {name: limit.speedup for name in campaign.classes if (limit := yardsticks.limit(name)) is not None}
    found = weigh({name: speedup(campaign, name) for name in limits}, limits, yardsticks.gate)
    return unpaid(found) if campaign.between_looks(yardsticks.gate.looks) else found


def _rates(campaign: Campaign, yardsticks: Yardsticks, again: Campaign | None) -> tuple[RateResult, ...]:
    then = factors_of(yardsticks.baseline, campaign.classes)
    if yardsticks.baseline is None or not then or campaign.between_looks(yardsticks.gate.looks):
        return ()
    doubt = Doubt(
        repeated=None if again is None else rate_changes(factors_of(again, again.classes), then),
        fresh_blocks=0 if again is None else len(again.valid),
        poorer=poorer_machine(campaign, yardsticks.baseline),
    )
    changes = rate_changes(factors_of(campaign, campaign.classes), then)
    return judge_rates(campaign.flag_set, changes, yardsticks.gate, doubt)


class _Case:
    """One campaign on its way to its results; what several classes need is computed once."""

    def __init__(self, campaign: Campaign, yardsticks: Yardsticks, again: Campaign | None) -> None:
        self.campaign, self.yardsticks, self.again = campaign, yardsticks, again
        self.evidence = _evidence(campaign, yardsticks)
        self.now = factors_of(campaign, campaign.classes)
        self.then = factors_of(yardsticks.baseline, campaign.classes)
        self.costs = cost_changes(self.now, self.then)

    def result(self, name: str) -> ClassResult:
        """The result of one class."""
        now = self.now.get(name)
        blocked = self._without_measurement(now)
        if blocked is not None or now is None:
            verdict = blocked or Verdict(outcome=Outcome.INVALID, reason=too_few(self.campaign))
            return ClassResult(
                flag_set=self.campaign.flag_set,
                prompt_class=name,
                speed=verdict,
                drafts=verdict,
                blocks=len(self.campaign.valid),
            )
        return self._measured(name, now)

    def _measured(self, name: str, now: Factors) -> ClassResult:
        subject = self._subject(name, now)
        speed = subject.speed()
        low, high = subject.now.interval(subject.level)
        alpha = (1 - subject.level) / 2
        return ClassResult(
            flag_set=self.campaign.flag_set,
            prompt_class=name,
            speed=speed,
            drafts=subject.drafts(speed),
            blocks=subject.now.blocks,
            speedup=subject.now.ratio,
            low=low,
            high=high,
            level=subject.level,
            block_sd=subject.now.log_sd,
            plain_tps=now.plain_tps.ratio,
            mtp_tps=now.mtp_tps.ratio,
            acceptance=now.acceptance,
            tau_then=subject.tau_then,
            step_cost=None if now.acceptance is None else now.tau / subject.now.ratio,
            limit=subject.limit,
            detectable=detectable(subject.now.log_sd, subject.now.blocks, alpha),
        )

    def _subject(self, name: str, now: Factors) -> Subject:
        recurrence = self._recurrence(name)
        asked_again = self.again if recurrence is not Recurrence.NOT_ASKED else None
        return Subject(
            now=now.speedup,
            counts=now.acceptance,
            limit=self.yardsticks.limit(name),
            tau_then=self.yardsticks.tau_then(name),
            evidence=self.evidence.get(name),
            gate=self.yardsticks.gate,
            stopped=self.campaign.stopped or (asked_again.stopped if asked_again else None),
            shift=self._shift(name, now),
            recurrence=recurrence,
            fresh_blocks=len(asked_again.valid) if asked_again else 0,
        )

    def _shift(self, name: str, now: Factors) -> Shift | None:
        then = self.then.get(name)
        if then is None or self.yardsticks.baseline is None or name not in self.costs:
            return None
        difference = first_difference(self.campaign, self.yardsticks.baseline, name)
        return Shift(now=now, then=then, cost=self.costs[name], difference=difference)

    def _recurrence(self, name: str) -> Recurrence:
        """What the fresh starts say of a class whose loss they were to confirm."""
        limit = self.yardsticks.limit(name)
        if self.again is None or limit is None or name not in self.again.classes:
            return Recurrence.NOT_ASKED
        if {one.arm for one in self.again.failures} == {Arm.MTP}:
            return Recurrence.CONFIRMED
        if len(self.again.valid) < FEWEST_BLOCKS:
            return Recurrence.OPEN
        found = recurring({name: speedup(self.again, name)}, {name: limit.speedup}, self.yardsticks.gate)
        return Recurrence.CONFIRMED if found else Recurrence.REFUTED

    def _without_measurement(self, now: Factors | None) -> Verdict | None:
        """The verdict where there is nothing to weigh: an arm failed, blocks are missing, nothing was drafted."""
        if self.campaign.failures:
            return failed(self.campaign.failures)
        if len(self.campaign.valid) < FEWEST_BLOCKS:
            return Verdict(outcome=Outcome.INVALID, reason=too_few(self.campaign))
        if now is not None and now.acceptance is not None and not now.acceptance.drafted:
            reason = "the mtp arm drafted nothing: the server speculates by name only (see its command and log)"
            return Verdict(outcome=Outcome.NOT_EXERCISED, reason=reason)
        return None


def failed(failures: tuple[ArmFailure, ...]) -> Verdict:
    """The verdict where an arm cannot be had: a loss where it is the mtp arm alone, else an error."""
    message = "\n".join(f"the {one.arm.value} arm failed in {one.stage.value}: {one.message}" for one in failures)
    if {one.arm for one in failures} == {Arm.MTP}:
        return Verdict(outcome=Outcome.REGRESSION, reason=message, cause=Cause.START_FAILURE)
    return Verdict(outcome=Outcome.ERROR, reason=message)


def too_few(campaign: Campaign) -> str:
    """Why a campaign cannot be judged: how many blocks count, and why the others do not."""
    reasons = dict.fromkeys(block.invalid for block in campaign.invalid if block.invalid)
    were = "was" if len(campaign.valid) == 1 else "were"
    parts = [f"only {counted(len(campaign.valid), 'valid block')} {were} measured", *reasons]
    return "; ".join([*parts, campaign.stopped] if campaign.stopped else parts)
