"""What does a person wait for? The first token, each further one, and the longest gaps between them."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from pytest_mtp.core.profile import Profile
from pytest_mtp.core.sample import Sample
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.study import Bound, Check, Evidence, Study, Suite
from pytest_mtp.core.suites.paired import both_arms
from pytest_mtp.core.suites.protocol import Arrangement, Design, asked, raw, studied, with_context
from pytest_mtp.core.verdict import Outcome

_SHORTEST_MS = 0.001
"""Tokens that were accepted together arrive together, and a gap of nothing has no ratio."""


def design(profile: Profile, flag_set: str) -> Design:
    """The gate's own questions behind a text, streamed: of a few tokens the first comes when the scheduler likes."""
    demands = profile.suites.latency
    length = demands.prompt_tokens or None
    classes = tuple(replace(one, length=length, floor=None) for one in asked(profile))
    asking = studied(profile if length is None else raw(profile), classes)
    streamed = replace(asking, request=replace(asking.request, stream=True))
    streamed = with_context(streamed, demands.prompt_tokens)
    return Design(
        suite=Suite.LATENCY,
        flag_set=flag_set,
        arrangements=(Arrangement(name="streamed", profile=streamed, flag_set=flag_set),),
        bounds={
            "first token": Bound(limit=demands.first_token, most=True),
            "token": Bound(limit=demands.token, most=True),
            "gap": Bound(limit=demands.gap, most=True),
        },
    )


def evidence(study: Study) -> Evidence:
    """Waiting times as the client saw them, in milliseconds."""
    campaign = study.variants[0].campaign
    if not all(_arrivals(sample) for arm in Arm for name in campaign.classes for sample in campaign.samples(arm, name)):
        said = "the engine does not tell when each token came"
        return Evidence(checks=(Check(name="arrivals", outcome=Outcome.NOT_TOLD, said=said),))
    rows = (
        ("time to first token", "first token", _first),
        ("time per token", "token", _per_token),
        ("inter-token p50", "median", lambda one: _gap(one, 0.50)),
        ("inter-token p95", "gap", lambda one: _gap(one, 0.95)),
    )
    return Evidence(quantities=tuple(both_arms(campaign, name, kind, "ms", value) for name, kind, value in rows))


def _first(sample: Sample) -> float:
    return max(_arrivals(sample)[0], _SHORTEST_MS)


def _per_token(sample: Sample) -> float:
    arrivals = _arrivals(sample)
    return max((arrivals[-1] - arrivals[0]) / (len(arrivals) - 1), _SHORTEST_MS)


def _gap(sample: Sample, share: float) -> float:
    """That percentile of the gaps between the tokens of one answer, by nearest rank."""
    gaps = sorted(later - earlier for earlier, later in pairwise(_arrivals(sample)))
    return max(gaps[math.ceil(share * len(gaps)) - 1], _SHORTEST_MS)


def _arrivals(sample: Sample) -> Sequence[float]:
    return sample.arrivals_ms or ()
