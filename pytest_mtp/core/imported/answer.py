"""The answers of another tool's files, added up by our formulas into what the history keeps of a class.

Tokens over time as everywhere, the first token of each turn left out because it is free; tau is (n - 1) / (n - 1 - a).
One pass has no blocks, so no value has an interval.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from pytest_mtp.core.factors import SHORTEST_TIMED_PROMPT
from pytest_mtp.core.history import ClassEntry, Metric, Value
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.verdict import Outcome
from pytest_mtp.errors import InputError

TAU_FORMULA = "(n - 1) / (n - 1 - a), tables of others have n / (n - a)"
"""What tau is in an imported entry; said there, since a published figure is the other one."""

_RATE = MappingProxyType({Arm.PLAIN: Metric.PLAIN_TPS, Arm.MTP: Metric.MTP_TPS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One request; an answer that failed has no tokens."""

    prompt_class: str
    request: str
    """What was asked: by this the other arm's answer is found."""
    tokens: int
    """Those that were waited for: without the free first one of each turn."""
    ms: float | None
    """They took so long; ``None`` where the file does not tell."""
    drafted: int = 0
    accepted: int = 0
    prompt_tokens: float = 0.0
    prompt_ms: float | None = None
    failed: bool = False

    @property
    def timed(self) -> bool:
        """Whether a rate follows from it."""
        return self.ms is not None and self.tokens > 0


Arms = Mapping[Arm, Sequence[Answer]]


def arm_of(answers: Sequence[Answer]) -> Arm:
    """The arm of a single file, as far as its counts tell."""
    return Arm.MTP if any(one.drafted for one in answers) else Arm.PLAIN


def both(plain: Sequence[Answer], mtp: Sequence[Answer]) -> Arms:
    """The arms of two files; InputError where the plain one is none."""
    if any(one.drafted for one in plain):
        raise InputError("The plain file has drafts, so its server speculated: give the two files the other way round.")
    return {Arm.PLAIN: plain, Arm.MTP: mtp}


def class_entries(arms: Arms) -> dict[str, ClassEntry]:
    """What the history keeps of every class; one without a usable answer keeps its place, without values."""
    names = dict.fromkeys(one.prompt_class for answers in arms.values() for one in answers)
    return {
        name: _class_entry({arm: [one for one in answers if one.prompt_class == name] for arm, answers in arms.items()})
        for name in names
    }


def _class_entry(arms: Arms) -> ClassEntry:
    values = {
        metric: Value(found)
        for metric, found in (*_rates(arms), *_drafts(arms), *_ratios(arms), *_prompts(arms))
        if found is not None
    }
    return ClassEntry(outcome=_outcome(arms), values=values, prompt=_digest(arms))


def _outcome(arms: Arms) -> Outcome:
    """Nothing was judged; but an arm without an answer, or an mtp arm without a draft, is a finding by itself."""
    given = [[one for one in answers if not one.failed] for answers in arms.values()]
    if not all(given):
        return Outcome.ERROR
    if Arm.MTP in arms and not any(one.drafted for one in arms[Arm.MTP]):
        return Outcome.NOT_EXERCISED
    return Outcome.NO_BASELINE


def _rates(arms: Arms) -> list[tuple[Metric, float | None]]:
    return [(_RATE[arm], _tps(answers)) for arm, answers in arms.items()]


def _tps(answers: Sequence[Answer]) -> float | None:
    timed = [one for one in answers if one.timed]
    return 1000 * sum(one.tokens for one in timed) / sum(one.ms or 0.0 for one in timed) if timed else None


def _drafts(arms: Arms) -> list[tuple[Metric, float | None]]:
    return [(Metric.TAU, _tau(arms.get(Arm.MTP, ())))]


def _tau(answers: Sequence[Answer]) -> float | None:
    tokens = sum(one.tokens for one in answers)
    return tokens / (tokens - sum(one.accepted for one in answers)) if tokens else None


def _ratios(arms: Arms) -> list[tuple[Metric, float | None]]:
    """Speedup and step cost over the requests that both arms timed, so that S = tau / c holds exactly."""
    timed = {arm: [one for one in answers if one.timed] for arm, answers in arms.items()}
    asked = [{one.request for one in timed.get(arm, ())} for arm in Arm]
    plain, mtp = ([one for one in timed.get(arm, ()) if one.request in asked[0] & asked[1]] for arm in Arm)
    slow, fast, tau = _tps(plain), _tps(mtp), _tau(mtp)
    if slow is None or fast is None or tau is None:
        return []
    return [(Metric.SPEEDUP, fast / slow), (Metric.STEP_COST, tau * slow / fast)]


def _prompts(arms: Arms) -> list[tuple[Metric, float | None]]:
    """Over both arms, as of our own; a prompt that is too short says nothing of prompt processing."""
    timed = [
        one
        for answers in arms.values()
        for one in answers
        if one.prompt_ms is not None and one.prompt_tokens >= SHORTEST_TIMED_PROMPT
    ]
    tokens, ms = sum(one.prompt_tokens for one in timed), sum(one.prompt_ms or 0.0 for one in timed)
    return [(Metric.PROMPT_TPS, 1000 * tokens / ms if timed else None)]


def _digest(arms: Arms) -> str:
    """Of the requests that were answered: two means over unlike sets of prompts are not one series."""
    asked = {arm.value: sorted({one.request for one in answers if not one.failed}) for arm, answers in arms.items()}
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]
