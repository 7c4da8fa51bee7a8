"""From the campaigns of a study to its verdict: every bounded ratio tested, every check said, the worst decides."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from pytest_mtp.core.cause import Cause
from pytest_mtp.core.decision import Evidence as Weight
from pytest_mtp.core.decision import Finding, weigh
from pytest_mtp.core.judge import failed, too_few
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.speedup import FEWEST_BLOCKS, Estimate
from pytest_mtp.core.study import Bound, Check, Evidence, Quantity, QuantityResult, Study, Suite, Variant
from pytest_mtp.core.suites import (
    context,
    draft_depth,
    kv_cache,
    latency,
    memory,
    other_speculation,
    parallel,
    prompt_processing,
    soak,
    text,
)
from pytest_mtp.core.suites.paired import drafts_told
from pytest_mtp.core.verdict import Outcome, Verdict

_EVIDENCE: Mapping[Suite, Callable[[Study], Evidence]] = {
    Suite.PROMPT_PROCESSING: prompt_processing.evidence,
    Suite.LATENCY: latency.evidence,
    Suite.DRAFT_DEPTH: draft_depth.evidence,
    Suite.CONTEXT: context.evidence,
    Suite.PARALLEL: parallel.evidence,
    Suite.MEMORY: memory.evidence,
    Suite.SOAK: soak.evidence,
    Suite.TEXT: text.evidence,
    Suite.KV_CACHE: kv_cache.evidence,
    Suite.OTHER_SPECULATION: other_speculation.evidence,
}

_WORST_FIRST = (
    Outcome.REGRESSION,
    Outcome.ERROR,
    Outcome.NOT_EXERCISED,
    Outcome.INVALID,
    Outcome.INCONCLUSIVE,
    Outcome.PASS,
    Outcome.NOT_TOLD,
)
_OF_FINDING = {
    Finding.ABOVE: Outcome.PASS,
    Finding.BELOW: Outcome.REGRESSION,
    Finding.OPEN: Outcome.INCONCLUSIVE,
}


def judged_study(study: Study, main: Campaign | None = None) -> Study:
    """The study with its results computed afresh; ``main`` is the flag set's campaign, for suites that ask no own."""
    whole = study if study.variants or main is None else replace(study, variants=(Variant(name="gate", campaign=main),))
    broken = tuple(_unmeasured(whole))
    if broken:
        return replace(study, results=(), checks=broken, notices=(), verdict=_verdict(study, (), broken))
    found = _EVIDENCE[study.suite](whole)
    results = _results(found.quantities, study.bounds, study.gate)
    if any(one.campaign.between_looks(study.gate.looks) for one in study.variants):
        results = tuple(replace(one, outcome=one.outcome and Outcome.INCONCLUSIVE) for one in results)
    if study.again:
        results = _confirmed(results, whole)
    verdict = _verdict(study, results, found.checks)
    return replace(study, results=results, checks=found.checks, notices=found.notices, verdict=verdict)


def enough(study: Study) -> bool:
    """Whether measuring may stop: an arm failed, all is proven, something is proven lost, or it was the last look."""
    blocks = min((len(one.campaign.valid) for one in study.variants), default=0)
    if any(one.campaign.failures for one in study.variants) or blocks >= study.gate.looks[-1]:
        return True
    if blocks not in study.gate.looks:
        return False
    outcomes = {one.outcome for one in judged_study(study).results}
    return Outcome.REGRESSION in outcomes or Outcome.INCONCLUSIVE not in outcomes


def _unmeasured(study: Study) -> Iterator[Check]:
    """What keeps a study from being judged: an arm that failed, or blocks that are missing."""
    fewest = 1 if study.suite in _OF_ONE_BLOCK else FEWEST_BLOCKS
    for one in study.variants:
        if one.campaign.failures:
            verdict = failed(one.campaign.failures)
            yield Check(name=one.name, outcome=verdict.outcome, said=f"{one.name}: {verdict.reason}")
        elif len(one.campaign.valid) < fewest:
            yield Check(name=one.name, outcome=Outcome.INVALID, said=f"{one.name}: {too_few(one.campaign)}")
        elif study.suite not in _MAY_IDLE and drafts_told(one.campaign) and not any(_drafted(one.campaign)):
            yield Check(name=one.name, outcome=Outcome.NOT_EXERCISED, said=f"{one.name}: the mtp arm drafted nothing")


def _drafted(campaign: Campaign) -> Iterator[bool]:
    return (sample.timings.drafted for name in campaign.classes for sample in campaign.samples(Arm.MTP, name))


_MAY_IDLE = frozenset({Suite.OTHER_SPECULATION})
"""N-grams draft nothing where nothing repeats; who has to draft is told by the suite's own checks."""
_OF_ONE_BLOCK = frozenset({Suite.SOAK, Suite.TEXT, Suite.MEMORY})


def _results(quantities: Sequence[Quantity], bounds: Mapping[str, Bound], gate: Gate) -> tuple[QuantityResult, ...]:
    """Every ratio with the interval that decides; Holm over the bounded ones."""
    bounded = {one.name: (one, bounds[one.kind]) for one in quantities if one.kind in bounds}
    weights = weigh(
        {name: _upright(one.ratio, bound) for name, (one, bound) in bounded.items()},
        {name: 1 / bound.limit if bound.most else bound.limit for name, (_, bound) in bounded.items()},
        gate,
    )
    return tuple(_result(one, bounds.get(one.kind), weights.get(one.name), gate) for one in quantities)


def _upright(ratio: Estimate, bound: Bound) -> Estimate:
    """The ratio so that more is better."""
    return Estimate(tuple(-log for log in ratio.logs)) if bound.most else ratio


def _result(one: Quantity, bound: Bound | None, weight: Weight | None, gate: Gate) -> QuantityResult:
    level = 1 - 2 * gate.alpha_look if weight is None else weight.level
    low, high = one.ratio.interval(level)
    return QuantityResult(
        name=one.name,
        unit=one.unit,
        first=one.first,
        second=one.second,
        blocks=one.ratio.blocks,
        ratio=one.ratio.ratio,
        low=low,
        high=high,
        level=level,
        bound=bound,
        outcome=None if weight is None else _OF_FINDING[weight.finding],
        sides=one.sides,
    )


def _confirmed(results: Sequence[QuantityResult], study: Study) -> tuple[QuantityResult, ...]:
    """The results, a red one being taken back where fresh starts do not show it too."""
    fresh = replace(study, variants=study.again, again=())
    broken = tuple(_unmeasured(fresh))
    if any(one.outcome is Outcome.REGRESSION for one in broken):
        return tuple(results)  # the mtp arm alone does not start there: worse than slow
    if broken:
        found: Mapping[str, Quantity] = {}
    else:
        found = {one.name: one for one in _EVIDENCE[study.suite](fresh).quantities}
    return tuple(
        replace(one, outcome=Outcome.INCONCLUSIVE)
        if one.outcome is Outcome.REGRESSION and not _recurs(one, found.get(one.name), study.gate)
        else one
        for one in results
    )


def _recurs(one: QuantityResult, again: Quantity | None, gate: Gate) -> bool:
    if again is None or one.bound is None:
        return False
    limit = 1 / one.bound.limit if one.bound.most else one.bound.limit
    return _upright(again.ratio, one.bound).p_below(limit) <= gate.alpha


def _verdict(study: Study, results: Sequence[QuantityResult], checks: Sequence[Check]) -> Verdict:
    """The worst outcome, with the sentences that say why; of a pass those of everything that had to hold."""
    told = [
        *((one.outcome, quantity_said(one, study)) for one in results if one.outcome is not None),
        *((one.outcome, one.said) for one in checks),
    ]
    if not told:
        return Verdict(outcome=Outcome.INVALID, reason=f"{study.title}: nothing was compared")
    worst = next(one for one in _WORST_FIRST if any(outcome is one for outcome, _ in told))
    said = "; ".join(sentence for outcome, sentence in told if outcome is worst)
    failed = worst is Outcome.REGRESSION and any(one.campaign.failures for one in study.variants)
    return Verdict(outcome=worst, reason=f"{study.title}: {said}", cause=Cause.START_FAILURE if failed else None)


def quantity_said(one: QuantityResult, study: Study) -> str:
    """One ratio in words: both values, the interval that decided, and the bound."""
    interval = f"{one.ratio:.2f}x [{one.low:.2f}, {one.high:.2f}]" if math.isfinite(one.high) else f"{one.ratio:.2f}x"
    first, second = study.sides(one)
    values = f"{one.name} {one.first:.4g} {one.unit} {first}, {one.second:.4g} {second}"
    return f"{values}, {interval}, {one.bound}" if one.bound else f"{values}, {interval}"
