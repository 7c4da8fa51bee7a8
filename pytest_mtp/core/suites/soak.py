"""Does one server stay as fast, and its drafts as good, as it was when it was young?"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import fmean

from pytest_mtp.core.profile import Profile
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.speedup import Estimate
from pytest_mtp.core.study import Bound, Check, Evidence, Quantity, Study, Suite
from pytest_mtp.core.suites.paired import drafts_told
from pytest_mtp.core.suites.protocol import Arrangement, Design, studied
from pytest_mtp.core.verdict import Outcome

_WINDOWS = 4
"""Into so many windows the first and the last quarter of the requests are cut; each is what a block is elsewhere.

They are of one life, and so less independent than blocks are: what the whole life has, none of them shows.
"""
_FEWEST = 4 * _WINDOWS
"""Pairs of requests, one for every window of every quarter."""


def design(profile: Profile, flag_set: str) -> Design:
    """One life of both servers, asked again and again for as long as the profile says."""
    demands, asking = profile.suites.soak, studied(profile)
    asking = replace(asking, measure=replace(asking.measure, for_s=demands.for_s))
    return Design(
        suite=Suite.SOAK,
        flag_set=flag_set,
        first="young",
        second="old",
        subject=f"{demands.for_s:g} s",
        arrangements=(Arrangement(name="life", profile=asking, flag_set=flag_set),),
        bounds={"aged": Bound(limit=demands.floor)},
        rounds=1,
    )


def evidence(study: Study) -> Evidence:
    """Speedup and tokens per step of the last quarter of the requests over those of the first."""
    campaign = study.variants[0].campaign
    pairs = min(len(campaign.valid[0].start(arm).of(name)) for arm in Arm for name in campaign.classes)
    if pairs < _FEWEST:
        said = f"{pairs} pairs of requests in {study.subject} are too few; give suites.soak.for_s more"
        return Evidence(checks=(Check(name="life", outcome=Outcome.INVALID, said=said),))
    return Evidence(quantities=tuple(_quantities(campaign)), notices=(f"{pairs} pairs of requests",))


def _quantities(campaign: Campaign) -> Iterator[Quantity]:
    start = campaign.valid[0].start
    speedups, taus = [], []
    for name in campaign.classes:
        plain, mtp = start(Arm.PLAIN).of(name), start(Arm.MTP).of(name)
        pairs = [math.log(p.timings.ms_per_token / m.timings.ms_per_token) for p, m in zip(plain, mtp, strict=True)]
        speedups.append(pairs)
        taus.append([math.log(one.timings.tau) for one in mtp if one.timings.told])
    compared = [("speedup", "x", speedups)]
    if drafts_told(campaign):
        compared.append(("tokens/step", "", taus))
    for label, unit, rows in compared:
        young, old = _edges(rows)
        yield Quantity(
            name=label,
            kind="aged",
            unit=unit,
            first=math.exp(fmean(young)),
            second=math.exp(fmean(old)),
            ratio=Estimate(tuple(late - early for early, late in zip(young, old, strict=True))),
        )


def _edges(rows: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    """The means of the windows of the first and of the last quarter, over all classes."""
    count = min(map(len, rows))
    borders = [count * place // (4 * _WINDOWS) for place in range(4 * _WINDOWS + 1)]
    means = [fmean(value for row in rows for value in row[begin:end]) for begin, end in pairwise(borders)]
    return means[:_WINDOWS], means[-_WINDOWS:]
