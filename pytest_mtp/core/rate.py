"""Is the engine as fast as it was? A ratio of two arms is blind to what slows both, so their speeds are judged too.

One test per speed and flag set, over all classes together: per-class speeds would ask the same question again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from pytest_mtp.core.cause import Cause
from pytest_mtp.core.change import Change, pooled
from pytest_mtp.core.decision import holm
from pytest_mtp.core.factors import Factors
from pytest_mtp.core.profile import Gate
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
    low: float
    """Of the interval that decided, as now over then."""
    high: float
    level: float


def rate_changes(now: Mapping[str, Factors], then: Mapping[str, Factors]) -> dict[Rate, Change]:
    """How each speed changed over the classes that both have; a speed that was not timed is left out."""
    names = [name for name in now if name in then]
    changes = {}
    for rate, field in _FIELD.items():
        pairs = [(getattr(then[name], field), getattr(now[name], field)) for name in names]
        timed = [(old, new) for old, new in pairs if old.blocks and new.blocks]
        if timed:
            changes[rate] = Change(pooled([old for old, _ in timed]), pooled([new for _, new in timed]))
    return changes


def judge_rates(flag_set: str, changes: Mapping[Rate, Change], gate: Gate) -> tuple[RateResult, ...]:
    """One verdict per speed: a loss beyond ``gate.tps_tolerance`` is red, Holm over the speeds of the flag set."""
    limit = 1 - gate.tps_tolerance
    below = holm({rate.value: change.p_below(limit) for rate, change in changes.items()}, gate.alpha_look)
    slower = frozenset(rate for rate in changes if rate.value in below)
    results = []
    for rate, change in changes.items():
        level = 1 - 2 * below.get(rate.value, gate.alpha_look)
        low, high = change.interval(level)
        results.append(
            RateResult(
                flag_set=flag_set,
                rate=rate,
                verdict=_verdict(rate, change, slower, gate),
                now_tps=change.now.ratio,
                then_tps=change.then.ratio,
                low=low,
                high=high,
                level=level,
            )
        )
    return tuple(results)


def _verdict(rate: Rate, change: Change, slower: frozenset[Rate], gate: Gate) -> Verdict:
    limit, level = 1 - gate.tps_tolerance, 1 - 2 * gate.alpha_look
    low, high = change.interval(level)
    said = (
        f"{rate.value} {change.now.ratio:.1f}, were {change.then.ratio:.1f} ({change.ratio - 1:+.1%} "
        f"[{low - 1:+.1%}, {high - 1:+.1%}], {change.now.blocks} blocks)"
    )
    if rate in slower:
        reason = f"{said}: a loss of more than {gate.tps_tolerance:.0%}"
        return Verdict(outcome=Outcome.REGRESSION, reason=reason, cause=_cause(rate, slower))
    if change.p_above(limit) < gate.alpha_look:
        return Verdict(outcome=Outcome.PASS, reason=said)
    return Verdict(outcome=Outcome.INCONCLUSIVE, reason=f"{said}: whether {gate.tps_tolerance:.0%} were lost is open")


def _cause(rate: Rate, slower: frozenset[Rate]) -> Cause | None:
    """What a slow speed is a sign of; one arm alone is explained by the classes' own verdicts."""
    if {Rate.PLAIN, Rate.MTP} <= slower:
        return Cause.WHOLE_ENGINE
    return Cause.PROMPT_PROCESSING if rate is Rate.PROMPT else None
