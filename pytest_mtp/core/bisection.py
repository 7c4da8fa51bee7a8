"""Which of a row of versions is the first bad one: what an answer is, and which version is asked next.

Every candidate was measured beside the good end in one session, so that what is judged is an effect:
a quantity of the candidate over that of the good end. The bad end's effect says how large the sought
change is; halfway to it, on the scale of ratios, lies the threshold that parts good from bad.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from pytest_mtp.core.change import Change
from pytest_mtp.core.factors import factors
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.speedup import faster
from pytest_mtp.core.verdict import Outcome

if TYPE_CHECKING:
    from pytest_mtp.core.run_report import Judged

_LEVEL = 0.95
_NO_ANSWER = frozenset({Outcome.INVALID, Outcome.ERROR})


class Quantity(Enum):
    """What is looked at, of one prompt class."""

    TAU = "tau"
    """Tokens per step: a count, so that its interval is a point."""
    STEP_COST = "step-cost"
    MTP_TPS = "mtp-tps"

    @property
    def slow_is_more(self) -> bool:
        """Whether a larger value is the slower one."""
        return self is Quantity.STEP_COST


class Sense(Enum):
    """What the bad end is, beside the good one."""

    SLOWER = "slower"
    FASTER = "faster"


class Answer(Enum):
    """What a candidate is; the value is what ``git bisect run`` takes for it."""

    GOOD = 0
    BAD = 1
    SKIP = 125


@dataclass(frozen=True, slots=True)
class Effect:
    """A quantity of the candidate over that of the good end, with its interval."""

    ratio: float
    low: float
    high: float


def not_started(quantity: Quantity) -> Effect:
    """The effect of an mtp arm that does not start: no token in any time."""
    worst = math.inf if quantity.slow_is_more else 0.0
    return Effect(worst, worst, worst)


def effect_of(judged: "Judged", prompt_class: str, quantity: Quantity) -> Effect | str:
    """The quantity of the head over that of its base, at 95 %; a text says why there is no answer."""
    if judged.compared is None:
        return "it was compared with nothing"
    head, base = judged.campaign, judged.compared.base
    if not base.failures and {one.arm for one in head.failures} == {Arm.MTP}:
        return not_started(quantity)
    for side, failures in (("GOOD", base.failures), ("its", head.failures)):
        if failures:
            one = failures[0]
            return f"{side} {one.arm.value} arm failed in {one.stage.value}: {one.message}"
    for result in judged.rejudged().results:
        if result.prompt_class == prompt_class and result.speed.outcome in _NO_ANSWER:
            return result.speed.reason
    return _measured(judged, prompt_class, quantity)


def _measured(judged: "Judged", prompt_class: str, quantity: Quantity) -> Effect | str:
    assert judged.compared is not None
    head, base = judged.campaign, judged.compared.base
    now, then = factors(head, prompt_class), factors(base, prompt_class)
    if now is None or then is None:
        return f"it tells nothing of {prompt_class}"
    match quantity:
        case Quantity.TAU:
            ratio = now.tau / then.tau
            return Effect(ratio, ratio, ratio)
        case Quantity.STEP_COST:
            change = Change.in_blocks(then.step_cost, now.step_cost)
        case Quantity.MTP_TPS:
            change = Change(then.mtp_tps, now.mtp_tps, faster(head, base, Arm.MTP, prompt_class))
    return Effect(change.ratio, *change.interval(_LEVEL))


def differs(effect: Effect, quantity: Quantity, sense: Sense) -> bool:
    """Whether the whole interval lies on the sought side of no change."""
    sought_above = quantity.slow_is_more is (sense is Sense.SLOWER)
    return effect.low > 1 if sought_above else effect.high < 1


def answer(effect: Effect, bad_effect: Effect) -> Answer:
    """Which side of the threshold the whole interval is on; SKIP where it straddles. On it is BAD."""
    threshold = math.sqrt(bad_effect.ratio)
    above = bad_effect.ratio > 1
    if effect.low >= threshold if above else effect.high <= threshold:
        return Answer.BAD
    if effect.high < threshold if above else effect.low > threshold:
        return Answer.GOOD
    return Answer.SKIP


@dataclass(frozen=True, slots=True)
class Found:
    """The end of a bisection."""

    first_bad: str
    last_good: str
    suspects: tuple[str, ...]
    """One of them made the change: the first bad one, behind those before it that gave no answer."""


def next_step(candidates: Sequence[str], answers: Mapping[str, Answer]) -> str | Found:
    """The candidate to measure next, or what was found; first and last candidate are the good and the bad end.

    It is the middle one of those that may still tell, so that each answer halves them and each SKIP
    costs no more than itself.
    """
    known = [Answer.GOOD, *(answers.get(one) for one in candidates[1:-1]), Answer.BAD]
    high = known.index(Answer.BAD)
    low = max(place for place in range(high) if known[place] is Answer.GOOD)
    untold = [candidates[place] for place in range(low + 1, high) if known[place] is None]
    if untold:
        return untold[len(untold) // 2]
    return Found(candidates[high], candidates[low], tuple(candidates[low + 1 : high + 1]))


def expected_measurements(count: int) -> int:
    """How many measurements tell which of ``count`` is the first bad one, the bad end being known; SKIPs add to it."""
    return max(count - 1, 0).bit_length()
