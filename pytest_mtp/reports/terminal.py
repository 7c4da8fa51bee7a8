"""The table of verdicts for a terminal: one line a class where it is wide, two where it is 80 columns."""

import math
import textwrap
from collections.abc import Iterable, Iterator
from statistics import median

from pytest_mtp.core.energy import energy_per_token
from pytest_mtp.core.environment import memory_bandwidth
from pytest_mtp.core.fingerprint import spoken
from pytest_mtp.core.profile import Reference
from pytest_mtp.core.run_report import Judged, RunReport
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.stability import block_sd, working_share, worst_block_sd
from pytest_mtp.core.study import Study
from pytest_mtp.core.traffic import share
from pytest_mtp.core.verdict import ClassResult, Limit, Outcome
from pytest_mtp.reports.comparison import comparison
from pytest_mtp.reports.conclusion import recorded
from pytest_mtp.reports.escaping import for_log
from pytest_mtp.reports.line import NAME, Line, Tone, shortened, tone_of
from pytest_mtp.reports.provenance import circumstances
from pytest_mtp.reports.reasons import grouped, verdicts, worth_a_word
from pytest_mtp.reports.studies import study_lines

_WIDE = 128


def lines(report: RunReport, width: int) -> Iterator[Line]:
    """The whole summary of a run, no line longer than ``width`` but for sentences, which wrap."""
    yield from wrapped(_unwrapped(report, width), width)


def wrapped(lines: Iterable[Line], width: int) -> Iterator[Line]:
    """The lines, those that are longer than ``width`` continued below; nothing in them moves a cursor."""
    for line in lines:
        text = for_log(line.text)
        parts = textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
        yield from (Line(part, line.tone) for part in (parts if len(text) > width else [text]))


def _unwrapped(report: RunReport, width: int) -> Iterator[Line]:
    if not (report.judged or report.studies):
        yield Line(f"profile {report.profile}: nothing was measured.")
        return
    yield from _provenance(report)
    for judged in report.judged:
        yield Line("")
        if judged.compared is not None:
            yield from comparison(judged, judged.compared)
            continue
        yield from _campaign(judged, width)
        yield from _rates(judged)
    yield from study_lines(report.studies)
    reasons = [reason for judged in report.judged for reason in _reasons(judged)]
    yield from [Line(""), *reasons] if reasons else []
    yield Line("")
    yield from (Line(text) for text in next_steps(report))


def _reasons(judged: Judged) -> Iterator[Line]:
    """One sentence per verdict that is no pass; the same sentence of several classes once."""
    # Also where a missing baseline was recorded just now: the tests were skipped for it.
    said = grouped((name, verdict) for name, verdict in verdicts(judged) if worth_a_word(verdict))
    for verdict, names in said.items():
        first, *rest = verdict.reason.splitlines() or [""]
        yield Line(f"{', '.join(names)}: {verdict.outcome.value}: {first}", tone_of(verdict.outcome))
        yield from (Line(f"  {line}") for line in rest)


def _provenance(report: RunReport) -> Iterator[Line]:
    machine = report.machine
    card = spoken(machine)
    first = circumstances(report)
    if first is None:
        yield Line(f"profile {report.profile}", Tone.HEAD)
        yield Line(card)
        return
    yield Line(f"profile {report.profile}, {first.build_label}, {first.model_label}", Tone.HEAD)
    yield Line(f"{card}; {first.isolation}")


def _campaign(judged: Judged, width: int) -> Iterator[Line]:
    campaign = judged.campaign
    yield Line(f"flag set {campaign.flag_set}: {_blocks(judged)}", Tone.HEAD)
    yield from (Line(f"note: {notice}") for notice in judged.notices)
    if campaign.stopped:
        yield Line(f"note: {campaign.stopped}")
    yield from (Line(f"note: {said}") for said in _unrepeated(judged))
    wide = width >= _WIDE
    yield from _header(wide=wide)
    for result in judged.results:
        yield from _row(result, judged.references.get(result.prompt_class), wide=wide)


def _rates(judged: Judged) -> Iterator[Line]:
    """Both arms' speeds and the prompts' against the recorded ones, and what this campaign could have found."""
    for one in judged.rates:
        interval = f"[{one.low - 1:+.1%}, {one.high - 1:+.1%}]"
        change = f"{one.now_tps / one.then_tps - 1:+.1%} {interval}"
        said = f"{one.rate.value:{NAME}} {one.now_tps:7.1f}  were {one.then_tps:.1f}  {change}"
        yield Line(f"{said}  {one.verdict.outcome.value}", tone_of(one.verdict.outcome))
    found = [one.detectable for one in judged.results if one.detectable is not None and one.limit is not None]
    if found:
        yield Line(f"Losses of {max(found):.1%} beyond a limit would have been found 4 times in 5.")
    yield from (Line(said) for said in (*_bandwidth(judged), *_energy(judged)))
    if judged.sessions:
        yield Line(f"Baseline: {_sessions(judged)}.")


def _unrepeated(judged: Judged) -> Iterator[str]:
    """Classes whose draft counts differ from request to request, which temperature 0 promises not to."""
    names = [one.prompt_class for one in judged.results if one.acceptance and not one.acceptance.repeatable]
    if judged.campaign.circumstances.sampled:
        names = []
    if names:
        yield f"draft counts differ between equal requests, though they are greedy: {', '.join(names)}"


def _energy(judged: Judged) -> Iterator[str]:
    """What a token costs in energy, where the card tells."""
    told = [f"{arm.value} {joules:.2f} J" for arm in Arm if (joules := energy_per_token(judged.campaign, arm))]
    if told:
        yield f"Energy per token: {', '.join(told)}."


def _bandwidth(judged: Judged) -> Iterator[str]:
    """What the plain arm makes of the memory; a card at half its bandwidth is ill, whatever its ratio of arms."""
    read, able = judged.campaign.circumstances.bytes_per_token, memory_bandwidth(judged.campaign)
    rates = [one.plain_tps for one in judged.results if one.plain_tps is not None]
    if not read or not able or not rates:
        return
    reached, part = median(rates) * read, share(read, median(rates), able)
    yield f"Plain decoding reads {reached / 1e9:.1f} GB/s of weights, {part:.0%} of this memory's {able / 1e9:.1f}."


def _sessions(judged: Judged) -> str:
    count = len(judged.sessions)
    blocks = sum(len(one.campaign.valid) for one in judged.sessions)
    said = f"{blocks} blocks of {count} session{'s' if count > 1 else ''}, last {judged.sessions[-1].recorded_at[:10]}"
    return f"{said}; {judged.yardsticks.calibration}"


def _blocks(judged: Judged) -> str:
    campaign = judged.campaign
    said = f"{len(campaign.valid)} blocks"
    if campaign.invalid:
        said += f", {len(campaign.invalid)} invalid"
    if campaign.resumed:
        said += f", {campaign.resumed} from before an interruption"
    if len(campaign.valid) > 1:
        said += f", block sd {block_sd(campaign):.1%} (worst {worst_block_sd(campaign):.1%})"
    if judged.again is not None:
        said += f", {len(judged.again.valid)} again in fresh starts"
    share = working_share(campaign)
    return said if share is None else f"{said}, servers busy {share:.1%}"


def _header(*, wide: bool) -> Iterator[Line]:
    speed = f"{'class':{NAME}} {'plain':>7} {'mtp':>7} {'speedup':>8} {'interval':>14}"
    factors = f"{'accept':>7} {'tau':>5} {'cost':>5}  {'limit':18} {'reference':14}"
    if wide:
        yield Line(f"{speed} {factors} verdict")
        return
    yield Line(f"{speed}  verdict")
    yield Line(f"{'':{NAME}} {factors}".rstrip())


def _row(result: ClassResult, reference: Reference | None, *, wide: bool) -> Iterator[Line]:
    tone = tone_of(result.speed.outcome)
    name = shortened(result.prompt_class)
    speed = (
        f"{name:{NAME}} {_number(result.plain_tps, 7, 1)} {_number(result.mtp_tps, 7, 1)} "
        f"{_times(result.speedup):>8} {_interval(result):>14}"
    )
    share = result.acceptance.share if result.acceptance else None
    factors = (
        f"{'-' if share is None else f'{share:.0%}':>7} {_number(_tau(result), 5, 2)} "
        f"{_number(result.step_cost, 5, 2)}  {_limit(result.limit):18} {_reference(reference):14}"
    )
    if wide:
        yield Line(f"{speed} {factors} {result.speed.outcome.value}", tone)
        return
    yield Line(f"{speed}  {result.speed.outcome.value}", tone)
    yield Line(f"{'':{NAME}} {factors}".rstrip())


def _number(value: float | None, width: int, digits: int) -> str:
    return f"{'-':>{width}}" if value is None or not math.isfinite(value) else f"{value:{width}.{digits}f}"


def _times(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}x"


def _interval(result: ClassResult) -> str:
    if result.low is None or result.high is None:
        return "-"
    return f"[{result.low:.2f}, {result.high:.2f}]"


def _tau(result: ClassResult) -> float | None:
    return result.acceptance.tau if result.acceptance else None


def _limit(limit: Limit | None) -> str:
    if limit is None:
        return "none"
    return f"{limit.speedup:.2f}x ({limit.yardstick.value})"


def _reference(reference: Reference | None) -> str:
    if reference is None:
        return "-"
    if reference.low == reference.high:
        return f"{reference.low:.2f}x"
    return f"{reference.low:.2f}x-{reference.high:.2f}x"


def _undecided(report: RunReport, *, compared: bool) -> Iterator[str]:
    """What would decide what is open: more time where that ended it, else more blocks."""
    classes = [one for one in report.judged if any(result.speed.outcome in _UNDECIDED for result in one.results)]
    suites = [one for one in report.studies if one.verdict.outcome in _UNDECIDED]
    late, late_suites = [one for one in classes if _late(one)], [one for one in suites if _late_study(one)]
    if late or late_suites:
        what = " and ".join(["classes"] * bool(late) + ["suites"] * bool(late_suites))
        yield f"Undecided {what} lacked time: {_MORE_TIME_COMPARED if compared else _MORE_TIME}"
    if any(_inconclusive(one) for one in classes if one not in late):
        mend = "--tier full (of pytest: --mtp-tier)" if compared else "--mtp-set 'gates.looks=[8, 16, 24]'"
        yield f"Undecided classes need a quieter machine or more blocks: {mend}."
    if any(one.verdict.outcome is Outcome.INCONCLUSIVE for one in suites if one not in late_suites):
        yield "Undecided suites need a quieter machine or more blocks: --mtp-set 'suites.looks=[6, 12]'."


_UNDECIDED = {Outcome.INCONCLUSIVE, Outcome.INVALID}
"""What more blocks may settle."""
_MORE_TIME = "give --mtp-max-time more, or go on with --mtp-resume."
_MORE_TIME_COMPARED = "give --max-time more, or go on with --resume (of pytest: --mtp-max-time, --mtp-resume)."


def _inconclusive(judged: Judged) -> bool:
    return any(one.speed.outcome is Outcome.INCONCLUSIVE for one in judged.results)


def _late(judged: Judged) -> bool:
    return any(one.out_of_time for one in (judged.campaign, judged.again) if one is not None)


def _late_study(study: Study) -> bool:
    return any(one.campaign.out_of_time for one in (*study.variants, *study.again))


def next_steps(report: RunReport) -> Iterator[str]:
    """What a person should do now, one sentence a line."""
    results = [result for judged in report.judged for result in judged.results]
    told = [*(one.level for one in results), *(one.level for study in report.studies for one in study.results)]
    levels = sorted({f"{level:.1%}" for level in told if level is not None})
    if levels:
        yield f"Intervals are two-sided t intervals at {' and '.join(levels)}: the ones that decided."
    outcomes = {result.speed.outcome for result in results}
    compared = any(judged.compared is not None for judged in report.judged)
    if not compared and (Outcome.REGRESSION in outcomes or Outcome.NOT_EXERCISED in outcomes):
        yield "A class lost: the sentences above name the factor that moved, the failing tests the servers' commands."
    yield from _undecided(report, compared=compared)
    if compared:
        return
    just_recorded = any(map(recorded, report.judged))
    if not just_recorded and any(not judged.sessions for judged in report.judged):
        yield "No baseline for this machine yet: record one with --mtp-update-baselines=new."
    sources = dict.fromkeys(reference.source for judged in report.judged for reference in judged.references.values())
    yield from (f"Reference: {source}." for source in sources)
