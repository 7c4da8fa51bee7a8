"""Is the engine as fast as it was? A ratio of two arms is blind to what slows both, so their speeds are judged too.

One test per speed and flag set, over all classes together: per-class speeds would ask the same question again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from pytest_mtp.core.cause import Cause
from pytest_mtp.core.change import Change, pooled
from pytest_mtp.core.decision import holm
from pytest_mtp.core.environment import Poorer
from pytest_mtp.core.factors import Factors
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.speedup import FEWEST_BLOCKS
from pytest_mtp.core.verdict import Outcome, Verdict


class Rate(Enum):
    """A speed in tokens per second."""

    PLAIN = "plain tok/s"
    MTP = "mtp tok/s"
    PROMPT = "prompt tok/s"


_FIELD = {Rate.PLAIN: "plain_tps", Rate.MTP: "mtp_tps", Rate.PROMPT: "prompt_tps"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RateResult:
    """One speed of one flag set, held against the recorded one."""

    flag_set: str
    rate: Rate
    verdict: Verdict
    now_tps: float
    """Geometric mean over the classes."""
    then_tps: float
    change: float
    """Now over then; in the same blocks not quite the ratio of the two."""
    low: float
    """Of the interval that decided, as now over then."""
    high: float
    level: float


def rate_changes(
    now: Mapping[str, Factors], then: Mapping[str, Factors], *, paired: bool = False
) -> dict[Rate, Change]:
    """How each speed changed over the classes that both have; a speed that was not timed is left out."""
    change = Change.in_blocks if paired else Change
    names = [name for name in now if name in then]
    changes = {}
    for rate, field in _FIELD.items():
        pairs = [(getattr(then[name], field), getattr(now[name], field)) for name in names]
        timed = [(old, new) for old, new in pairs if old.blocks and new.blocks]
        if timed:
            changes[rate] = change(pooled([old for old, _ in timed]), pooled([new for _, new in timed]))
    return changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """What can take a red speed back."""

    repeated: Mapping[Rate, Change] | None = None
    """The changes in fresh starts; ``None`` where nothing was measured again."""
    fresh_blocks: int = 0
    poorer: Poorer | None = None
    """What of the machine is less than when the baseline was recorded."""


_NO_DOUBT = Doubt()


def judge_rates(
    flag_set: str, changes: Mapping[Rate, Change], gate: Gate, doubt: Doubt = _NO_DOUBT
) -> tuple[RateResult, ...]:
    """One verdict per speed: a loss beyond ``gate.tps_tolerance`` is red, Holm over the speeds of the flag set."""
    limit = 1 - gate.tps_tolerance
    below = holm({rate.value: change.p_below(limit) for rate, change in changes.items()}, gate.alpha_look)
    slower = frozenset(rate for rate in changes if rate.value in below)
    results = []
    for rate, change in changes.items():
        level = 1 - 2 * below.get(rate.value, gate.alpha_look)
        low, high = change.interval(level)
        verdict = _Subject(rate, change, slower, gate, doubt, (low, high)).verdict()
        results.append(
            RateResult(
                flag_set=flag_set,
                rate=rate,
                verdict=verdict,
                now_tps=change.now.ratio,
                then_tps=change.then.ratio,
                change=change.ratio,
                low=low,
                high=high,
                level=level,
            )
        )
    return tuple(results)


@dataclass(frozen=True, slots=True)
class _Subject:
    rate: Rate
    change: Change
    slower: frozenset[Rate]
    gate: Gate
    doubt: Doubt
    interval: tuple[float, float]

    def verdict(self) -> Verdict:
        low, high = self.interval
        said = (
            f"{self.rate.value} {self.change.now.ratio:.1f}, were {self.change.then.ratio:.1f} "
            f"({self.change.ratio - 1:+.1%} [{low - 1:+.1%}, {high - 1:+.1%}], {self.change.now.blocks} blocks)"
        )
        if self.rate in self.slower:
            return self._slower(f"{said}: a loss of more than {self.gate.tps_tolerance:.0%}")
        if self.change.p_above(1 - self.gate.tps_tolerance) < self.gate.alpha_look:
            return Verdict(outcome=Outcome.PASS, reason=said)
        reason = f"{said}: whether {self.gate.tps_tolerance:.0%} were lost is open"
        return Verdict(outcome=Outcome.INCONCLUSIVE, reason=reason)

    def _slower(self, said: str) -> Verdict:
        """A loss is red when it recurs in fresh starts and the machine itself was as good as it was."""
        poorer = self.doubt.poorer
        if poorer is not None and poorer.lost >= (1 - self.change.ratio) / 2:
            reason = f"{said}, on a poorer machine: {poorer.said}"
            return Verdict(outcome=Outcome.INVALID, reason=reason, cause=Cause.ENVIRONMENT)
        if self.doubt.repeated is None:
            return Verdict(outcome=Outcome.REGRESSION, reason=said, cause=self._cause())
        again = self.doubt.repeated.get(self.rate)
        if again is None or self.doubt.fresh_blocks < FEWEST_BLOCKS:
            reason = f"{said}; it could not be measured again in fresh starts"
            return Verdict(outcome=Outcome.INCONCLUSIVE, reason=reason)
        if again.p_below(1 - self.gate.tps_tolerance) > self.gate.alpha:
            reason = f"{said}, and not in {self.doubt.fresh_blocks} blocks of fresh starts: a loss that does not recur"
            return Verdict(outcome=Outcome.INCONCLUSIVE, reason=reason)
        reason = f"{said}, and so in {self.doubt.fresh_blocks} blocks of fresh starts ({again.ratio - 1:+.1%})"
        return Verdict(outcome=Outcome.REGRESSION, reason=reason, cause=self._cause())

    def _cause(self) -> Cause | None:
        """What a slow speed is a sign of; one arm alone is explained by the classes' own verdicts."""
        if self.rate is Rate.PROMPT:
            return Cause.PROMPT_PROCESSING
        return Cause.WHOLE_ENGINE if {Rate.PLAIN, Rate.MTP} <= self.slower else None
