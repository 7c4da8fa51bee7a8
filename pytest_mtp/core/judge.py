"""From a campaign and what it is held against to one result per prompt class."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_mtp.core.cause import Cause
from pytest_mtp.core.decision import Evidence, Finding, settled, weigh
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.sample import ArmFailure, Campaign
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.speedup import Estimate, speedup, throughput
from pytest_mtp.core.tau import Acceptance, acceptance
from pytest_mtp.core.verdict import ClassResult, Limit, Outcome, Verdict, Yardstick

_ACCEPTANCE_FLOOR = 0.01  # a head that agrees less than this often is broken, whatever the model (llama.cpp#27572)
_FEWEST_BLOCKS = 2  # below two there is no spread, so no interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Yardsticks:
    """What a campaign is held against."""

    gate: Gate
    floors: Mapping[str, float] = field(default_factory=dict)
    """Smallest speedup per class on any machine."""
    baseline: Campaign | None = None
    expected_tau: Mapping[str, float] = field(default_factory=dict)
    """Tokens per step by a phantom's arithmetic; used where no baseline is."""

    def limit(self, prompt_class: str) -> Limit | None:
        """The baseline's limit, else the floor, else nothing."""
        then = self._recorded(prompt_class)
        if then is not None:
            tolerance = min(self.gate.tolerance + _own_error(then), 0.99)
            return Limit(
                speedup=then.ratio * (1 - tolerance),
                yardstick=Yardstick.BASELINE,
                baseline=then.ratio,
                tolerance=tolerance,
            )
        floor = self.floors.get(prompt_class)
        return None if floor is None else Limit(speedup=floor, yardstick=Yardstick.FLOOR)

    def tau_then(self, prompt_class: str) -> float | None:
        """Tokens per step as recorded, else by arithmetic, else ``None``."""
        if self.baseline is None or prompt_class not in self.baseline.classes:
            return self.expected_tau.get(prompt_class)
        recorded = acceptance(self.baseline, prompt_class)
        return recorded.tau if recorded else None

    def _recorded(self, prompt_class: str) -> Estimate | None:
        if self.baseline is None or prompt_class not in self.baseline.classes:
            return None
        then = speedup(self.baseline, prompt_class)
        return then if then.blocks >= _FEWEST_BLOCKS else None


def _own_error(then: Estimate) -> float:
    """Twice the standard error of a baseline: it was measured too (statistics.md 2.5)."""
    return 2 * then.log_sd / math.sqrt(then.blocks)


def enough(campaign: Campaign, yardsticks: Yardsticks) -> bool:
    """Whether measuring may stop: at a look whose evidence settles it, or after the last look."""
    blocks = len(campaign.valid)
    if campaign.failures or blocks >= yardsticks.gate.looks[-1]:
        return True
    if blocks not in yardsticks.gate.looks:
        return False
    return settled(_evidence(campaign, yardsticks))


def judge(campaign: Campaign, yardsticks: Yardsticks) -> tuple[ClassResult, ...]:
    """One result per class; pure, so that a stored campaign is judged again without a server."""
    evidence = _evidence(campaign, yardsticks)
    return tuple(_result(campaign, name, yardsticks, evidence.get(name)) for name in campaign.classes)


def _evidence(campaign: Campaign, yardsticks: Yardsticks) -> dict[str, Evidence]:
    limits = {name: limit.speedup for name in campaign.classes if (limit := yardsticks.limit(name)) is not None}
    return weigh({name: speedup(campaign, name) for name in limits}, limits, yardsticks.gate)


def _result(campaign: Campaign, name: str, yardsticks: Yardsticks, evidence: Evidence | None) -> ClassResult:
    counts = acceptance(campaign, name)
    blocked = _without_measurement(campaign, counts)
    if blocked is not None or counts is None:
        verdict = blocked or Verdict(outcome=Outcome.INVALID, reason=_too_few(campaign))
        return ClassResult(
            flag_set=campaign.flag_set,
            prompt_class=name,
            speed=verdict,
            drafts=verdict,
            blocks=len(campaign.valid),
        )
    subject = _Subject(
        now=speedup(campaign, name),
        counts=counts,
        limit=yardsticks.limit(name),
        tau_then=yardsticks.tau_then(name),
        evidence=evidence,
        gate=yardsticks.gate,
        stopped=campaign.stopped,
    )
    speed = subject.speed()
    low, high = subject.now.interval(subject.level)
    return ClassResult(
        flag_set=campaign.flag_set,
        prompt_class=name,
        speed=speed,
        drafts=subject.drafts(speed),
        blocks=subject.now.blocks,
        speedup=subject.now.ratio,
        low=low,
        high=high,
        level=subject.level,
        block_sd=subject.now.log_sd,
        plain_tps=throughput(campaign, Arm.PLAIN, name).ratio,
        mtp_tps=throughput(campaign, Arm.MTP, name).ratio,
        acceptance=counts,
        tau_then=subject.tau_then,
        step_cost=counts.tau / subject.now.ratio,
        limit=subject.limit,
    )


def _without_measurement(campaign: Campaign, counts: Acceptance | None) -> Verdict | None:
    """The verdict where there is nothing to weigh: an arm failed, blocks are missing, nothing was drafted."""
    if campaign.failures:
        return _failed(campaign.failures)
    if len(campaign.valid) < _FEWEST_BLOCKS:
        return Verdict(outcome=Outcome.INVALID, reason=_too_few(campaign))
    if counts is not None and not counts.drafted:
        reason = "the mtp arm drafted nothing: the server speculates by name only (see its command and log)"
        return Verdict(outcome=Outcome.NOT_EXERCISED, reason=reason)
    return None


def _failed(failures: tuple[ArmFailure, ...]) -> Verdict:
    message = "\n".join(f"the {one.arm.value} arm failed in {one.stage.value}: {one.message}" for one in failures)
    if {one.arm for one in failures} == {Arm.MTP}:
        return Verdict(outcome=Outcome.REGRESSION, reason=message, cause=Cause.START_FAILURE)
    return Verdict(outcome=Outcome.ERROR, reason=message)


def _too_few(campaign: Campaign) -> str:
    reasons = dict.fromkeys(block.invalid for block in campaign.invalid if block.invalid)
    parts = [f"only {len(campaign.valid)} valid blocks were measured", *reasons]
    return "; ".join([*parts, campaign.stopped] if campaign.stopped else parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    """One measured class, what it is held against, and what the evidence says."""

    now: Estimate
    counts: Acceptance
    limit: Limit | None
    tau_then: float | None
    evidence: Evidence | None
    """``None`` exactly where there is no limit."""
    gate: Gate
    stopped: str | None

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
                reason = f"{measured} is below {self.limit}{self._moved()}"
                return Verdict(outcome=Outcome.REGRESSION, reason=reason, cause=self._cause())
            case Finding.OPEN:
                mend = self.stopped or self._why_open()
                reason = f"{measured} straddles {self.limit}; {mend}"
                return Verdict(outcome=Outcome.INCONCLUSIVE, reason=reason)
            case Finding.ABOVE if self._improved(self.evidence):
                reason = f"{measured} is above the baseline{self._moved()}; record it: --mtp-update-baselines=all"
                return Verdict(outcome=Outcome.IMPROVED, reason=reason)
            case Finding.ABOVE:
                return Verdict(outcome=Outcome.PASS, reason=f"{measured} is above {self.limit}{self._moved()}")

    def drafts(self, speed: Verdict) -> Verdict:
        """The verdict about tokens per step: red only with a loss of speed, since a good change may lower it."""
        said = f"tokens per step {self.counts.tau:.2f}, {self.counts.accepted} of {self.counts.drafted} drafts accepted"
        if self.tau_then is None:
            return self._against_floor(said)
        change = self.counts.tau / self.tau_then - 1
        said = f"{said}; tokens per step were {self.tau_then:.2f} ({change:+.1%})"
        if change >= -self.gate.tau_tolerance:
            return Verdict(outcome=Outcome.PASS, reason=said)
        if speed.outcome is Outcome.REGRESSION or self._by_arithmetic:
            return Verdict(outcome=Outcome.REGRESSION, reason=said, cause=Cause.DRAFT_QUALITY)
        if speed.outcome.open:
            return Verdict(outcome=Outcome.INCONCLUSIVE, reason=f"{said}; whether speed was lost is undecided")
        return Verdict(outcome=Outcome.PASS, reason=f"{said}; the speed held, so this is said and not judged")

    @property
    def _by_arithmetic(self) -> bool:
        """Whether tau is held against a phantom's arithmetic, which needs no loss of speed to be right."""
        return self.limit is None or self.limit.baseline is None

    def _cause(self) -> Cause:
        """Which factor of S = tau / c was lost; without a tau to compare with, only the step can be blamed."""
        lost = self.tau_then is not None and self.counts.tau < self.tau_then * (1 - self.gate.tau_tolerance)
        return Cause.DRAFT_QUALITY if lost else Cause.STEP_COST

    def _why_open(self) -> str:
        if self.now.blocks >= self.gate.looks[-1]:
            return "more blocks or a quieter machine decide"
        return "measuring ended early, with the loss of another class"

    def _against_floor(self, said: str) -> Verdict:
        if (self.counts.share or 0.0) < _ACCEPTANCE_FLOOR:
            reason = f"{said}: below the floor of {_ACCEPTANCE_FLOOR:.0%}"
            return Verdict(outcome=Outcome.REGRESSION, reason=reason, cause=Cause.DRAFT_QUALITY)
        return Verdict(outcome=Outcome.PASS, reason=f"{said}; no baseline, above the floor of {_ACCEPTANCE_FLOOR:.0%}")

    def _improved(self, evidence: Evidence) -> bool:
        baseline = self.limit.baseline if self.limit else None
        return baseline is not None and evidence.low > baseline * (1 + self.gate.tolerance)

    def _moved(self) -> str:
        """What changed since the baseline, by S = tau / c."""
        if self.limit is None or self.limit.baseline is None or self.tau_then is None:
            return ""
        change = self.now.ratio / self.limit.baseline
        tau_change = self.counts.tau / self.tau_then
        return (
            f", was {self.limit.baseline:.2f}x ({change - 1:+.1%}): tokens per step {self.counts.tau:.2f}, were "
            f"{self.tau_then:.2f} ({tau_change - 1:+.1%}); a step costs {tau_change / change - 1:+.1%}"
        )
