"""A comparison of a head with its base, as lines for a terminal of 80 columns."""

from collections.abc import Iterator

from pytest_mtp.core.comparison import Compared, control_change, moved
from pytest_mtp.core.rate import RateResult
from pytest_mtp.core.run_report import Judged
from pytest_mtp.core.verdict import ClassResult
from pytest_mtp.reports.line import NAME, Line, Tone, shortened, tone_of

_LEVEL = 0.95


def comparison(judged: Judged, compared: Compared) -> Iterator[Line]:
    """What was compared, a line or two for every class, the speeds over all classes, and the control."""
    yield Line(sides(judged, compared), Tone.HEAD)
    yield Line(_blocks(judged, compared), Tone.HEAD)
    yield from (Line(f"note: {notice}") for notice in judged.notices)
    if judged.campaign.stopped:
        yield Line(f"note: {judged.campaign.stopped}")
    yield Line(f"{'class':{NAME}} {'base':>8} {'head':>8} {'change':>8}  {'interval':16} verdict")
    yield Line(f"{'':{NAME}} {'speedup':>14} {'tokens/step':>14} {'step cost':>14} {'plain':>8}")
    for result in judged.results:
        yield from _class(result)
    yield from (Line(text, tone_of(one.verdict.outcome)) for one in judged.rates if (text := _rate(one)))
    yield from (Line(said) for said in control(compared))
    found = [one.detectable for one in judged.results if one.detectable is not None]
    if found:
        yield Line(f"Losses of {max(found):.1%} beyond the margin would have been found 4 times in 5.")


def sides(judged: Judged, compared: Compared) -> str:
    """What is compared with what, by what tells them apart."""
    head, base = judged.campaign, compared.base
    now, then = head.circumstances, base.circumstances
    if now.build != then.build:
        return f"head {now.build_label} against base {then.build_label}"
    if now.model != then.model or now.model_label != then.model_label:
        return f"head {now.model_label} against base {then.model_label}"
    if head.flag_set != base.flag_set:
        return f"head's flag set {head.flag_set} against base's {base.flag_set}"
    return f"{now.build_label} against itself"


def _blocks(judged: Judged, compared: Compared) -> str:
    head, rule = judged.campaign, compared.rule
    said = f"flag set {head.flag_set}: {len(head.valid)} blocks"
    if head.invalid:
        said += f", {len(head.invalid)} invalid"
    if head.resumed:
        said += f", {head.resumed} from before an interruption"
    spreads = [one.block_sd for one in judged.results if one.block_sd is not None]
    if spreads:
        said += f", block sd {sum(spreads) / len(spreads):.1%}"
    return f"{said}; margin {rule.margin:.0%}{', equivalence' if rule.equivalence else ''}"


def _class(result: ClassResult) -> Iterator[Line]:
    tone, name = tone_of(result.speed.outcome), shortened(result.prompt_class)
    against, counts = result.against, result.acceptance
    if against is None or counts is None or result.speedup is None:
        yield Line(f"{name:{NAME}} {'-':>8} {'-':>8} {'-':>8}  {'-':16} {result.speed.outcome.value}", tone)
        return
    interval = f"[{against.low - 1:+.1%}, {against.high - 1:+.1%}]"
    yield Line(
        f"{name:{NAME}} {against.mtp_tps:8.1f} {result.mtp_tps:8.1f} {against.mtp - 1:+8.1%}  {interval:16} "
        f"{result.speed.outcome.value}",
        tone,
    )
    factors = (
        f"{against.speedup:.2f} -> {result.speedup:.2f}x",
        f"{result.tau_then:.2f} -> {counts.tau:.2f}",
        f"{against.step_cost:.2f} -> {result.step_cost:.2f}",
    )
    yield Line(f"{'':{NAME}} {' '.join(f'{one:>14}' for one in factors)} {against.plain - 1:+8.1%}")


def _rate(one: RateResult) -> str:
    interval = f"[{one.low - 1:+.1%}, {one.high - 1:+.1%}]"
    return (
        f"{'all ' + one.rate.value:{NAME}} {one.then_tps:8.1f} {one.now_tps:8.1f} {one.change - 1:+8.1%}  "
        f"{interval:16} {one.verdict.outcome.value}"
    )


def control(compared: Compared) -> Iterator[str]:
    """What the control says of the session, or that two sessions have none."""
    change = control_change(compared)
    if not compared.paired:
        yield "Two sessions, so without pairs and control: what changed on the machine in between counts as well."
    elif change is not None:
        low, high = change.interval(_LEVEL)
        held = "moved: the session is void" if moved(compared) else "held"
        span = f"{change.ratio - 1:+.1%} [{low - 1:+.1%}, {high - 1:+.1%}]"
        yield f"Control: base's mtp arm against itself {span}; it {held}."
