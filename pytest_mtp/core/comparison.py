"""Head against base: is the mtp arm slower than it was before the change, on this machine, today?

Both builds, and the base's mtp arm a second time as control, are measured in the same blocks, so that each
class gives one ratio a block: the head's mtp tok/s over the base's, from neighbouring requests. It is red when
it is proven to have lost more than a margin, green when that is proven not to be so. Where the control
moved, the session is void. Two stored sessions are compared by the same rules, without pairs and control.
"""

import math
from dataclasses import dataclass, field, replace

from pytest_mtp.core.cause import Cause, Shift, cost_changes
from pytest_mtp.core.change import Change, pooled, pooled_change
from pytest_mtp.core.class_verdict import draft_verdict
from pytest_mtp.core.decision import Evidence, Finding, settled, unpaid, weigh
from pytest_mtp.core.factors import factors_of
from pytest_mtp.core.judge import Judgement, too_few
from pytest_mtp.core.power import detectable
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.rate import Rate, RateResult, judge_rates, rate_changes
from pytest_mtp.core.sample import ArmFailure, Campaign
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.speedup import FEWEST_BLOCKS, Estimate, faster
from pytest_mtp.core.tau import first_difference
from pytest_mtp.core.tier import Rule, Tier
from pytest_mtp.core.verdict import AgainstBase, ClassResult, Outcome, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What a head is held against, and by which rule."""

    base: Campaign
    control: Campaign | None = None
    """The base's mtp arm once more, in the same blocks; ``None`` where two stored sessions are compared."""
    rule: Rule = field(default_factory=Tier.SCREEN.rule)

    @property
    def paired(self) -> bool:
        """Whether head and base were measured in the same blocks."""
        return self.control is not None

    def gate(self, gate: Gate) -> Gate:
        """The profile's gate with this rule's margin and looks."""
        return replace(gate, looks=self.rule.looks, tps_tolerance=self.rule.margin)


def control_change(compared: Compared) -> Estimate | None:
    """The base's mtp arm against itself, over all classes; ``None`` without a control, or blocks enough."""
    base, control = compared.base, compared.control
    if control is None or len(control.valid) < FEWEST_BLOCKS:
        return None
    return pooled([faster(control, base, Arm.MTP, name) for name in base.classes])


_CONTROL_LEVEL = 0.99


def moved(compared: Compared) -> str | None:
    """Why the session is void: a control that differs from itself by more than half the margin, proven at 99 %."""
    change = control_change(compared)
    if change is None:
        return None
    low, high = change.interval(_CONTROL_LEVEL)
    if low <= 1 <= high or abs(change.ratio - 1) <= compared.rule.margin / 2:
        return None
    return (
        f"the control moved: base's mtp arm differs from itself by {change.ratio - 1:+.1%} [{low - 1:+.1%}, "
        f"{high - 1:+.1%}], so that no difference of this session means anything; measure when the machine is quiet"
    )


def decided(head: Campaign, compared: Compared, gate: Gate) -> bool:
    """Whether measuring may stop: a look has settled it, or it was the last."""
    blocks = len(head.valid)
    if head.failures or compared.base.failures or blocks >= compared.rule.looks[-1]:
        return True
    if blocks not in compared.rule.looks or moved(compared):
        return False
    case = _Case(head, compared, gate)
    if not settled(case.evidence):
        return False
    lost = any(one.finding is Finding.BELOW for one in case.evidence.values())
    return lost or all(one.verdict.outcome is not Outcome.INCONCLUSIVE for one in case.rates())


def judge_against(head: Campaign, compared: Compared, gate: Gate) -> Judgement:
    """The verdicts of a head; pure, so that a stored comparison is judged again without a server."""
    case = _Case(head, compared, gate)
    blocked = case.blocked()
    if blocked is None:
        return Judgement(results=tuple(case.result(name) for name in head.classes), rates=case.rates())
    blocks = len(head.valid)
    results = (
        ClassResult(flag_set=head.flag_set, prompt_class=name, speed=blocked, drafts=blocked, blocks=blocks)
        for name in head.classes
    )
    return Judgement(results=tuple(results))


class _Case:
    """One comparison on its way to its results; what several classes need is computed once."""

    def __init__(self, head: Campaign, compared: Compared, gate: Gate) -> None:
        self.head, self.compared, self.gate = head, compared, compared.gate(gate)
        names = tuple(name for name in head.classes if name in compared.base.classes)
        self.now, self.then = factors_of(head, names), factors_of(compared.base, names)
        self.mtp = {name: self._change(Arm.MTP, name) for name in self.now if name in self.then}
        self.plain = {name: self._change(Arm.PLAIN, name) for name in self.mtp}
        self.costs = cost_changes(self.now, self.then, paired=compared.paired)
        limits = dict.fromkeys(self.mtp, 1 - self.margin)
        found = weigh(self.mtp, limits, self.gate)
        self.evidence = unpaid(found) if head.between_looks(self.gate.looks) else found

    @property
    def margin(self) -> float:
        return self.compared.rule.margin

    def _change(self, arm: Arm, name: str) -> Change:
        """Of one arm's tokens per second."""
        now, then = (getattr(one[name], f"{arm.value}_tps") for one in (self.now, self.then))
        return Change(then, now, faster(self.head, self.compared.base, arm, name) if self.compared.paired else None)

    def blocked(self) -> Verdict | None:
        """The verdict where there is nothing to weigh."""
        if self.head.failures or self.compared.base.failures:
            return _failed(self.head.failures, self.compared.base.failures)
        fewest = min(len(self.head.valid), len(self.compared.base.valid))
        if fewest < FEWEST_BLOCKS:
            return Verdict(outcome=Outcome.INVALID, reason=too_few(self.head))
        if any(one.acceptance is None for side in (self.now, self.then) for one in side.values()):
            reason = "an engine does not tell its drafts, so which factor moved cannot be said"
            return Verdict(outcome=Outcome.INVALID, reason=reason)
        void = moved(self.compared)
        return None if void is None else Verdict(outcome=Outcome.INVALID, reason=void, cause=Cause.ENVIRONMENT)

    def result(self, name: str) -> ClassResult:
        """The result of one class."""
        now, then, change = self.now[name], self.then[name], self.mtp[name]
        speed, evidence = self._speed(name), self.evidence[name]
        spread, acceptance = change.paired or now.mtp_tps, now.acceptance
        assert acceptance is not None, "a comparison without drafts is blocked"
        return ClassResult(
            flag_set=self.head.flag_set,
            prompt_class=name,
            speed=speed,
            drafts=draft_verdict(acceptance, then.tau, speed, self.gate),
            blocks=change.now.blocks,
            speedup=now.speedup.ratio,
            block_sd=spread.log_sd,
            plain_tps=now.plain_tps.ratio,
            mtp_tps=now.mtp_tps.ratio,
            acceptance=acceptance,
            tau_then=then.tau,
            step_cost=now.tau / now.speedup.ratio,
            detectable=detectable(spread.log_sd, spread.blocks, (1 - evidence.level) / 2),
            against=AgainstBase(
                mtp=change.ratio,
                low=evidence.low,
                high=evidence.high,
                level=evidence.level,
                plain=self.plain[name].ratio,
                plain_tps=then.plain_tps.ratio,
                mtp_tps=then.mtp_tps.ratio,
                speedup=then.speedup.ratio,
                step_cost=then.tau / then.speedup.ratio,
            ),
        )

    def _speed(self, name: str) -> Verdict:
        now, then, evidence = self.now[name], self.then[name], self.evidence[name]
        if now.acceptance is None or not now.acceptance.drafted:
            reason = "the head's mtp arm drafted nothing"
            return Verdict(outcome=Outcome.NOT_EXERCISED, reason=reason)
        shift = Shift(
            now=now,
            then=then,
            cost=self.costs[name],
            difference=first_difference(self.head, self.compared.base, name),
            paired=self.compared.paired,
        )
        said = (
            f"mtp tok/s {self.mtp[name].ratio - 1:+.1%} [{evidence.low - 1:+.1%}, {evidence.high - 1:+.1%}] against "
            f"base ({evidence.level:.1%} interval, {self.mtp[name].now.blocks} blocks)"
        )
        if evidence.finding is Finding.BELOW:
            cause = loss_of(shift)
            reason = f"{said}, a loss of more than {self.margin:.0%}: {shift}"
            return Verdict(outcome=Outcome.REGRESSION, reason=reason, cause=cause)
        return self._held(said, shift, evidence, self.mtp[name])

    def _held(self, said: str, shift: Shift, evidence: Evidence, change: Change) -> Verdict:
        """The verdict of a class that is not proven to have lost."""
        if evidence.finding is Finding.OPEN:
            early = len(self.head.valid) < self.compared.rule.looks[-1]
            why = "measuring ended early, with the loss of another class" if early else "a quieter machine decides"
            mend = self.head.stopped or why
            reason = f"{said}: whether {self.margin:.0%} were lost is open; {mend}"
            return Verdict(outcome=Outcome.INCONCLUSIVE, reason=reason)
        if evidence.low > 1 + self.margin:
            return Verdict(outcome=Outcome.IMPROVED, reason=f"{said}: a gain of more than {self.margin:.0%}: {shift}")
        if self.compared.rule.equivalence:
            if change.p_below(1 + self.margin) >= self.gate.alpha_look:
                reason = f"{said}: equivalence within {self.margin:.0%} is not shown"
                return Verdict(outcome=Outcome.INCONCLUSIVE, reason=reason)
            return Verdict(outcome=Outcome.PASS, reason=f"{said}: equivalent within {self.margin:.0%}; {shift}")
        return Verdict(outcome=Outcome.PASS, reason=f"{said}: no loss of {self.margin:.0%}; {shift}")

    def rates(self) -> tuple[RateResult, ...]:
        """The speeds over all classes: the plain arm's and the prompts' too, to which drafts are nothing."""
        if not self.mtp:
            return ()
        changes = rate_changes(self.now, self.then, paired=self.compared.paired)
        changes |= {
            Rate.PLAIN: pooled_change(tuple(self.plain.values())),
            Rate.MTP: pooled_change(tuple(self.mtp.values())),
        }
        return judge_rates(self.head.flag_set, changes, self.gate)


def loss_of(shift: Shift) -> Cause:
    """What took most of the mtp arm's speed: ln mtp tok/s = ln tau - ln c + ln plain tok/s, exactly."""
    lost = {
        Cause.DRAFT_QUALITY: -math.log(shift.tau),
        Cause.STEP_COST: math.log(shift.tau) - math.log(shift.speedup),
        Cause.WHOLE_ENGINE: -math.log(shift.plain.ratio),
    }
    return max(lost, key=lambda cause: lost[cause])


def _failed(head: tuple[ArmFailure, ...], base: tuple[ArmFailure, ...]) -> Verdict:
    """A head that does not start where its base does is red; without a base there is nothing to compare with."""
    told = [
        f"{side}'s {one.arm.value} arm failed in {one.stage.value}: {one.message}"
        for side, failures in (("head", head), ("base", base))
        for one in failures
    ]
    if base:
        return Verdict(outcome=Outcome.ERROR, reason="\n".join(["there is nothing to compare with", *told]))
    return Verdict(outcome=Outcome.REGRESSION, reason="\n".join(told), cause=Cause.START_FAILURE)
