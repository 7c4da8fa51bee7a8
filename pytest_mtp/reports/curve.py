"""The page of a cost curve: a line for every measured acceptance, when MTP pays, and where a step's time goes."""

import re
import textwrap
from collections.abc import Iterator

from pytest_mtp.core.amount import memory_amount
from pytest_mtp.core.cost_curve import CostCurve, sentence
from pytest_mtp.core.curve_report import CurveReport, compared
from pytest_mtp.core.fingerprint import spoken
from pytest_mtp.core.speedup import Estimate

_LEVEL = 0.95
_POSSIBLE = 1.05
"""An efficiency above 1 by no more is two clocks that differ."""
# An interval stays on one line.
_INTERVAL = re.compile(r"(?<=,) (?=[\d.]+\])")
_TIED = "\x00"


def page(report: CurveReport, width: int, then: CurveReport | None = None) -> Iterator[str]:
    """The whole page, and what became of a step since ``then``; tables have 76 columns, sentences wrap at ``width``."""
    curve = report.curve
    changed = [] if then is None else [f"Against {_build(then)}: {compared(report, then)}"]
    for paragraph in (_head(report), _costs(curve), _payoff(curve), _parts(report), changed, _bandwidth(report)):
        lines = list(paragraph)
        for line in lines:
            yield from _wrapped(line, width)
        if lines:
            yield ""
    for notice in report.notices:
        for line in notice.splitlines():
            yield from _wrapped(f"note: {line}", width)


def _wrapped(line: str, width: int) -> Iterator[str]:
    if len(line) <= width:
        yield line
        return
    for part in textwrap.wrap(_INTERVAL.sub(_TIED, line), width, break_on_hyphens=False, break_long_words=False):
        yield part.replace(_TIED, " ")


def _head(report: CurveReport) -> Iterator[str]:
    first = report.points[0].campaign.circumstances
    machine = report.machine
    card = spoken(machine)
    yield f"profile {report.profile}, flag set {report.flag_set}, class {report.prompt_class}, {first.build_label}"
    yield f"{first.model_label}; {card}; {first.isolation}"


def _build(report: CurveReport) -> str:
    return f"{report.points[0].campaign.circumstances.build_label} of {report.created_at[:10]}"


def _costs(curve: CostCurve) -> Iterator[str]:
    yield f"{'tokens/step':>12} {'step cost':>10}  {'interval':16} {'speedup':>8}  {'interval':16} {'blocks':>6}"
    for point in curve.points:
        cost, speedup = point.step_cost, point.speedup
        yield (
            f"{point.tau:12.2f} {cost.ratio:10.2f}  {_interval(cost):16} {speedup.ratio:7.2f}x  "
            f"{_interval(speedup):16} {cost.blocks:6}"
        )


def _payoff(curve: CostCurve) -> Iterator[str]:
    yield sentence(curve, _LEVEL)
    yield (
        f"Drafts were taken by chance (up to {curve.n_max} a step); a straight line through the costs misses the "
        f"worst of them by {curve.misfit:.1%}. Intervals are t intervals at {_LEVEL:.0%}."
    )


def _parts(report: CurveReport) -> Iterator[str]:
    found = [(point.tau, report.parts(one)) for point, one in zip(report.curve.points, report.points, strict=True)]
    told = [(tau, parts) for tau, parts in found if parts is not None]
    if not told:
        return
    yield "Where a step's time goes, in plain steps:"
    yield (
        f"{'tokens/step':>12} {'verifying':>10} {'drafting':>9} {'the rest':>9} {'ideal':>7} {'measured':>9} "
        f"{'efficiency':>11}"
    )
    for tau, parts in told:
        yield (
            f"{tau:12.2f} {parts.verification:10.2f} {parts.drafting:9.2f} {parts.rest:9.2f} "
            f"{parts.ideal_speedup(tau):6.2f}x {tau / parts.whole:8.2f}x {parts.efficiency:11.0%}"
        )
    if max(parts.efficiency for _, parts in told) > _POSSIBLE:
        yield "Above 100% something disturbed llama-bench or the servers: measure again when nothing else runs."
    yield (
        f"Verifying: llama-bench, a batch of {report.n_max + 1} over a single token. Drafting: the server's own clock. "
        "The ideal speedup has no rest."
    )


def _bandwidth(report: CurveReport) -> Iterator[str]:
    share, able, read = report.bandwidth_share, report.bandwidth, report.bytes_per_token
    if share is None or able is None or read is None:
        return
    on_a_card = report.points[0].campaign.circumstances.card_memory_bytes is not None
    whose = "the card is made for" if on_a_card else "this machine's memory was measured to give"
    tps = report.plain_tps.ratio
    yield (
        f"The plain arm's {tps:.1f} tok/s read {memory_amount(read)} of weights each: {read * tps / 1e9:.1f} GB/s, "
        f"{share:.0%} of the {able / 1e9:.1f} GB/s that {whose}."
    )


def _interval(estimate: Estimate) -> str:
    low, high = estimate.interval(_LEVEL)
    return f"[{low:.2f}, {high:.2f}]" if estimate.blocks > 1 else "-"
