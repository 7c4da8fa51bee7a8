"""What a bisect says: its cost before it starts, each answer, and in the end the commit with all that was measured."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_mtp.core.bisection import Answer, Effect, Found, Quantity, Sense, expected_measurements
from pytest_mtp.core.verdict import ClassResult

_NAMES = {
    Quantity.TAU: "tau (tokens per step)",
    Quantity.STEP_COST: "the step cost",
    Quantity.MTP_TPS: "mtp tok/s",
}
_MINUTE_S = 60
_SUBJECT = 60
_FEW = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is sought."""

    quantity: Quantity
    sense: Sense
    prompt_class: str
    kind: str
    """``commit`` or ``version``."""

    def __str__(self) -> str:
        return f"{_NAMES[self.quantity]} of {self.prompt_class}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One candidate that was asked about."""

    name: str
    label: str
    """What people read, such as a short sha."""
    found: Effect | str
    """Its effect, or why there is none."""
    answer: Answer
    subject: str = ""
    date: str = ""


def percent(effect: Effect) -> str:
    """``-12.3% [-13.0%, -11.5%]``; a point has no interval."""
    if effect.ratio in (0.0, math.inf):
        return "its mtp arm does not start"
    if effect.low == effect.high:
        return f"{effect.ratio - 1:+.2%}"
    return f"{effect.ratio - 1:+.1%} [{effect.low - 1:+.1%}, {effect.high - 1:+.1%}]"


def cost(count: int, known: int, seconds: Sequence[float]) -> str:
    """How many measurements ``count`` candidates will take, and how long, going by those that there were."""
    expected = expected_measurements(count)
    said = f"about {expected} measurement{'s' if expected != 1 else ''} beside the two ends"
    if known:
        said += f", of which up to {known} {'are' if known > 1 else 'is'} already there"
    if not seconds:
        return f"{said}; each compiles a llama.cpp and compares it with GOOD, which takes minutes"
    mean_s = math.fsum(seconds) / len(seconds)
    took = f"{len(seconds)} took {duration(mean_s)} each" if len(seconds) > 1 else f"the first took {duration(mean_s)}"
    return f"{said}; {took} (compiling and measuring), so about {duration(expected * mean_s)}"


def duration(seconds: float) -> str:
    """``45 s``, ``12 min`` or ``1 h 5 min``."""
    if seconds < 2 * _MINUTE_S:
        return f"{seconds:.0f} s"
    minutes = round(seconds / _MINUTE_S)
    return f"{minutes} min" if minutes < _MINUTE_S else f"{minutes // _MINUTE_S} h {minutes % _MINUTE_S} min"


def same(wanted: Wanted, effect: Effect) -> str:
    """The sentence of two ends that leave nothing to look for."""
    return (
        f"GOOD and BAD do not differ as sought: {wanted} of BAD is {percent(effect)} against GOOD, "
        f"which is not clearly {wanted.sense.value}; nothing was bisected."
    )


def told(wanted: Wanted, one: Measured) -> str:
    """One answer, as it is given."""
    said = _found(one) if isinstance(one.found, Effect) else f"no answer: {_why(one.found)}"
    return f"{one.label}: {_answer(wanted, one)}  {said}  {one.subject}".rstrip()


def conclusion(wanted: Wanted, found: Found, measured: Sequence[Measured]) -> list[str]:
    """What was found, and every measurement in the order of the history."""
    by_name = {one.name: one for one in measured}
    bad = by_name[found.first_bad]
    facts = [f"  {one}" for one in (bad.subject, bad.date and f"authored {bad.date}") if one]
    effect = f"  {wanted} against GOOD: {_found(bad)}"
    if len(found.suspects) == 1:
        lines = [f"The first {wanted.sense.value} {wanted.kind} is {bad.name}", *facts, effect]
    else:
        rest = [by_name[one] for one in found.suspects[:-1]]
        lines = [
            f"The first {wanted.sense.value} {wanted.kind} is {bad.name} or one of {len(rest)} before it "
            "that gave no answer:",
            *facts, effect,
            *(f"  or {one.name}  {one.subject}".rstrip() for one in reversed(rest)),
        ]  # fmt: skip
    width = max(len(one.label) for one in measured)
    table = [
        f"  {one.label:{width}}  {_answer(wanted, one):6}  {_found(one):30}  {one.subject[:_SUBJECT]}".rstrip()
        for one in measured
    ]
    silent = [f"  {one.label} gave no answer: {_why(one.found)}" for one in measured if isinstance(one.found, str)]
    return [*lines, "", f"All measurements, oldest {wanted.kind} first:", *table, *([""] if silent else []), *silent]


def _answer(wanted: Wanted, one: Measured) -> str:
    """In the words of what is sought."""
    return {Answer.GOOD: "as GOOD", Answer.BAD: wanted.sense.value, Answer.SKIP: "skip"}[one.answer]


def _found(one: Measured) -> str:
    return percent(one.found) if isinstance(one.found, Effect) else "no answer"


def _why(found: str) -> str:
    """The first sentence of what keeps a candidate from an answer."""
    return f"{found.partition(chr(10))[0].partition('. ')[0].rstrip('.')}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One of two campaigns beside each other; ``None`` where nothing was measured."""

    head: str
    label: str
    measured_at: str
    effect: str
    values: tuple[float | None, ...]
    """In the order of ``_ROWS``."""


_ROWS = ("mtp tok/s", "plain tok/s", "speedup", "tau", "step cost c")


def of_candidate(one: Measured, head: str, measured_at: str, result: ClassResult | None) -> Column:
    """A candidate's own numbers."""
    tau = result.acceptance.tau if result and result.acceptance else None
    values = (result.mtp_tps, result.plain_tps, result.speedup, tau, result.step_cost) if result else (None,) * 5
    return Column(head=head, label=one.label, measured_at=measured_at, effect=_found(one), values=values)


def of_good(label: str, measured_at: str, result: ClassResult | None) -> Column:
    """The good end's numbers, of the session with that candidate."""
    then = result.against if result else None
    values = (then.mtp_tps, then.plain_tps, then.speedup, result.tau_then, then.step_cost) if result and then else None
    return Column(
        head="last good", label=label, measured_at=measured_at, effect="it is GOOD", values=values or (None,) * 5
    )


def side_by_side(good: Column, bad: Column) -> list[str]:
    """The two campaigns as columns; times of different sessions are the machine's too, so each has its effect."""
    lines = [("", good.head, bad.head, "change"), ("", good.label, bad.label, "")]
    for name, old, new in zip(_ROWS, good.values, bad.values, strict=True):
        change = f"{new / old - 1:+.1%}" if old and new else ""
        lines.append((name, _number(old), _number(new), change))
    wide = max(len(text) for line in lines for text in line[1:3])
    return [
        "The two campaigns side by side:",
        *(f"  {name:12}  {old:>{wide}}  {new:>{wide}}  {change:>8}".rstrip() for name, old, new, change in lines),
        *(
            f"  {one.head}, measured {one.measured_at}, against GOOD in that session: {one.effect}"
            for one in (good, bad)
        ),
    ]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}" if value < _FEW else f"{value:.1f}"
