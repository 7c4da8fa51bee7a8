"""The page of a sweep over draft depths: the flags to copy, what they gain and how sure that is, and the sweep."""

from collections.abc import Iterator, Mapping

from pytest_mtp.core import draft_flags
from pytest_mtp.core.fingerprint import spoken
from pytest_mtp.core.recommendation import Recommendation, said
from pytest_mtp.core.run_report import RunReport
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.speedup import Estimate
from pytest_mtp.core.study import Study
from pytest_mtp.core.suites.draft_depth import depth, recommendation
from pytest_mtp.core.suites.paired import drafts_told, of_arm
from pytest_mtp.core.verdict import Outcome
from pytest_mtp.reports.escaping import one_line
from pytest_mtp.reports.line import Line, Tone, shortened, tone_of
from pytest_mtp.reports.terminal import wrapped

_CLASS = 22


def page(report: RunReport, study: Study, width: int) -> Iterator[Line]:
    """The whole page: tables have 80 columns, sentences wrap at ``width``, and the flags to copy stay on one line."""
    if not study.results:
        yield from wrapped(_unmeasured(study), width)
        return
    best, campaigns = recommendation(study), {one.name: one.campaign for one in study.variants}
    yield from wrapped(_heading(best), width)
    if best.drafts:
        yield from [Line(""), Line(f"  {one_line(_flags(campaigns[best.setting]))}", Tone.GOOD), Line("")]
    parts = (_gain(best, campaigns), _warnings(best), _sweep(best, campaigns), _cliffs(study), _fits(study, best))
    for part in (*parts, _around(report, study, best)):
        yield from wrapped(part, width)


def _unmeasured(study: Study) -> Iterator[Line]:
    outcome = study.verdict.outcome
    yield Line(f"No recommendation. {outcome.value}:", tone_of(outcome))
    yield from (Line(text) for text in study.verdict.reason.splitlines())
    if outcome.fails:
        yield Line("Where a setting cannot be had, sweep others: --set 'suites.draft_depth.n_max=[1, 2, 3]'.")
    else:
        yield Line("Give it more time (--max-time), or mend what made the blocks invalid.")


def _heading(best: Recommendation) -> Iterator[Line]:
    if best.drafts:
        yield Line("Best here, to paste after `llama-server -m MODEL`:", Tone.HEAD)
    else:
        yield Line("Best here: no MTP. No setting gains; start `llama-server -m MODEL` as it is.", Tone.HEAD)
        yield Line("")


def _flags(campaign: Campaign) -> str:
    mtp, plain = (campaign.valid[0].start(arm).command for arm in (Arm.MTP, Arm.PLAIN))
    return draft_flags.drafting(mtp, plain)


def _gain(best: Recommendation, campaigns: Mapping[str, Campaign]) -> Iterator[Line]:
    plain, mtp = (_speed(campaigns[best.setting], arm).ratio for arm in (Arm.PLAIN, Arm.MTP))
    told = f"{said(best.gain, best.level)} the speed without MTP, {_blocks(best.gain)}"
    over_own = best.over_own
    if not best.drafts:
        yield Line(f"Of all settings {best.setting} comes closest: {told}.")
        return
    yield Line(f"{told}: {mtp:.1f} tok/s instead of {plain:.1f}.")
    if best.setting != best.fastest:
        yield Line(f"The fastest was {best.fastest}; this one is as good, and drafts less.")
    if best.setting == best.own:
        yield Line("It is what the flag set says already.")
    elif best.own is not None and over_own is not None:
        yield Line(f"{said(over_own, best.level)} the speed of what the flag set says, {best.own}.")


def _warnings(best: Recommendation) -> Iterator[Line]:
    more = f"measure more blocks (--blocks {2 * best.gain.blocks}), or where nothing else runs"
    if not best.proven:
        than = "faster" if best.drafts else "slower"
        yield Line(f"warning: that is not proven {than} than without MTP; {more}.", Tone.OPEN)
    elif best.drafts and best.own is not None and not best.proven_over_own:
        yield Line(f"warning: it is not proven faster than what the flag set says; {more}.", Tone.OPEN)


def _sweep(best: Recommendation, campaigns: Mapping[str, Campaign]) -> Iterator[Line]:
    yield Line("")
    speeds = f"{'plain tok/s':>12} {'mtp tok/s':>10} {'speedup':>8}  {'interval':14}"
    yield Line(f"{'n-max':>5} {'p-min':>6} {speeds} {'tokens/step':>11}", Tone.HEAD)
    for name, campaign in campaigns.items():
        yield _row(name, campaign, best)
    yield Line("")


def _row(name: str, campaign: Campaign, best: Recommendation) -> Line:
    n_max, p_min = depth(name)
    plain, mtp = (_speed(campaign, arm).ratio for arm in (Arm.PLAIN, Arm.MTP))
    ratio, _, interval = said(best.speedups[name], best.level).partition(" ")
    tau = of_arm(campaign, Arm.MTP, lambda one: one.timings.tau).ratio if drafts_told(campaign) else None
    drafts = "-" if tau is None else f"{tau:.2f}"
    chosen = best.drafts and name == best.setting
    marks = ["best"] * chosen + ["own"] * (name == best.own)
    speeds = f"{plain:12.1f} {mtp:10.1f} {ratio:>8}  {interval or '-':14}"
    told = f"{n_max:5} {p_min:>6} {speeds} {drafts:>11}  {', '.join(marks)}"
    return Line(told.rstrip(), Tone.GOOD if chosen else Tone.PLAIN)


def _cliffs(study: Study) -> Iterator[Line]:
    """The settings that have a bound, and are not proven to keep it."""
    bounded = [one for one in study.results if one.bound is not None]
    for one in bounded:
        if one.outcome is Outcome.PASS:
            continue
        proven = one.outcome is Outcome.REGRESSION
        yield Line(
            f"{'cliff' if proven else 'perhaps a cliff'}: {one.name} is {one.ratio:.2f}x "
            f"[{one.low:.2f}, {one.high:.2f}] that of its better neighbour, {one.bound}",
            Tone.BAD if proven else Tone.OPEN,
        )
    if bounded and all(one.outcome is Outcome.PASS for one in bounded):
        yield Line(f"No cliff: every n-max has {bounded[0].bound} of its better neighbour's speed.")


def _fits(study: Study, best: Recommendation) -> Iterator[Line]:
    """To whose prompts it applies."""
    campaign = study.variants[0].campaign
    tokens = campaign.circumstances.request.get("tokens", "?")
    names = ", ".join(campaign.classes)
    yield Line(
        f"It fits what was asked: {names}, answers of {tokens} tokens. Other texts are drafted with other success: "
        "ask your own with --prompts FILE, or other classes of the profile with --class NAME."
    )
    if len(campaign.classes) > 1:
        yield from _by_class(study, best)


def _by_class(study: Study, best: Recommendation) -> Iterator[Line]:
    yield Line("")
    yield Line(f"{'class':{_CLASS}} {'its own best':20} {'speedup':18} with the above", Tone.HEAD)
    for name in study.variants[0].campaign.classes:
        own = recommendation(study, (name,))
        with_best = own.speedups[best.setting].ratio
        chosen = own.setting if own.drafts else "no MTP"
        yield Line(f"{shortened(name, _CLASS):{_CLASS}} {chosen:20} {said(own.gain, own.level):18} {with_best:.2f}x")


def _around(report: RunReport, study: Study, best: Recommendation) -> Iterator[Line]:
    campaign = study.variants[0].campaign
    around, machine = campaign.circumstances, report.machine
    card = spoken(machine)
    yield Line("")
    yield Line(
        f"Intervals are two-sided t intervals at {best.level:.1%}: {best.settings} settings were tried, "
        "and none shall look best by chance."
    )
    yield Line(f"profile {report.profile}, flag set {study.flag_set}, {around.build_label}, {around.model_label}")
    yield Line(f"{card}; {around.isolation}")
    yield Line(f"measured with {draft_flags.serving(campaign.valid[0].start(Arm.PLAIN).command)}")
    stops = dict.fromkeys(one.campaign.stopped for one in study.variants if one.campaign.stopped)
    yield from (Line(f"note: {text}") for text in (*stops, *study.left_out))


def _speed(campaign: Campaign, arm: Arm) -> Estimate:
    return of_arm(campaign, arm, lambda one: one.timings.tps)


def _blocks(estimate: Estimate) -> str:
    return f"over {estimate.blocks} {'block' if estimate.blocks == 1 else 'blocks'}"
