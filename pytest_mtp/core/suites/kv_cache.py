"""What do the types of the KV cache cost, in speed, drafts and memory, each with MTP and without?"""

from collections.abc import Iterator
from dataclasses import replace

from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.core.profile import Profile
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.study import Bound, Evidence, Quantity, Study, Suite, Variant
from pytest_mtp.core.suites.paired import both_arms, in_turn, of_arm
from pytest_mtp.core.suites.protocol import Arrangement, Design, studied
from pytest_mtp.errors import SettingsError

_USUAL = ("f16", "q8_0", "q4_0")
_FORKS = "turbo"
"""How a fork's further types begin (turbo2, turbo3, turbo4): the build's own list says which there are."""


def design(profile: Profile, flag_set: str, capabilities: Capabilities) -> Design:
    """A campaign for every type that the build offers, the same for keys and values; the first is compared with.

    SettingsError where the profile names a type that the build has not.
    """
    demands, base = profile.suites.kv_cache, studied(profile)
    offered = capabilities.values("-ctk") or capabilities.values("--cache-type-k")
    forks = tuple(one for one in offered if one.startswith(_FORKS))
    wanted = dict.fromkeys(demands.types or (*_USUAL, *forks))
    types = tuple(one for one in wanted if not offered or one in offered)
    lacking = tuple(f"this build has no cache type {one}" for one in wanted if one not in types)
    if demands.types and lacking:
        raise SettingsError(f"suites.kv_cache.types: {lacking[0]}; it has {', '.join(offered)}.")
    chosen = profile.flag_sets[flag_set]
    arrangements = []
    for one in types:
        typed = replace(chosen, server={**chosen.server, "cache_type_k": one, "cache_type_v": one})
        arrangements.append(
            Arrangement(name=one, profile=replace(base, flag_sets={flag_set: typed}), flag_set=flag_set)
        )
    return Design(
        suite=Suite.KV_CACHE,
        flag_set=flag_set,
        arrangements=tuple(arrangements),
        fewest=2,
        bounds={"mtp": Bound(limit=demands.floor), "drafts": Bound(limit=demands.drafts)},
        left_out=lacking,
    )


def evidence(study: Study) -> Evidence:
    """For each type the speedup; for all but the first its mtp speed and drafts over the first one's."""
    first, *others = study.variants
    speedups = tuple(
        both_arms(one.campaign, f"speedup, {one.name}", "speedup", "tok/s", lambda each: each.timings.tps)
        for one in study.variants
    )
    compared = tuple(row for one in others for row in _compared(first, one))
    memory = (f"{one.name}: the servers' processes took {_memory(one.campaign)}" for one in study.variants)
    texts = (_same_texts(first, one) for one in others if one.campaign.circumstances.greedy)
    return Evidence(quantities=(*speedups, *compared), notices=(*texts, *memory))


def _compared(first: Variant, second: Variant) -> Iterator[Quantity]:
    name, sides, campaigns = second.name, (first.name, second.name), (first.campaign, second.campaign)
    speeds = [of_arm(each, Arm.MTP, lambda sample: sample.timings.tps) for each in campaigns]
    yield in_turn(f"mtp tok/s, {name}", "mtp", "tok/s", *speeds, sides=sides)
    taus = [of_arm(each, Arm.MTP, lambda sample: sample.timings.tau) for each in campaigns]
    yield in_turn(f"tokens/step, {name}", "drafts", "", *taus, sides=sides)


def _same_texts(first: Variant, one: Variant) -> str:
    classes = one.campaign.classes
    here, there = ([each.campaign.samples(Arm.MTP, name)[0].text_sha256 for name in classes] for each in (first, one))
    same = sum(mine == other for mine, other in zip(here, there, strict=True))
    return f"{one.name}: {same} of {len(classes)} greedy texts are those of {first.name}"


def _memory(campaign: Campaign) -> str:
    """The most that each arm's process held."""
    told = []
    for arm in Arm:
        levels = [block.start(arm).telemetry for block in campaign.valid]
        peaks = [one.rss_bytes.peak for one in levels if one is not None and one.rss_bytes is not None]
        told.append(f"{max(peaks) / 2**20:.0f} MiB {arm.value}" if peaks else f"unknown {arm.value}")
    return ", ".join(told)
