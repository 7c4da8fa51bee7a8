"""How many tokens should be drafted on this machine, and is there a setting that falls off a cliff?"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from pytest_mtp.core.profile import Profile
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.speedup import Estimate
from pytest_mtp.core.study import Bound, Evidence, Quantity, Study, Suite
from pytest_mtp.core.suites.paired import both_arms, in_turn, of_arm
from pytest_mtp.core.suites.protocol import Arrangement, Design, studied


def design(profile: Profile, flag_set: str) -> Design:
    """A campaign for every n-max with the flag set's own p-min, and for every p-min with its own n-max."""
    chosen, demands = profile.flag_sets[flag_set], profile.suites.draft_depth
    settings = dict.fromkeys((n_max, chosen.p_min) for n_max in sorted(demands.n_max))
    settings |= dict.fromkeys((chosen.n_max, p_min) for p_min in demands.p_min)
    base = studied(profile)
    arrangements = []
    for n_max, p_min in settings:
        swept = replace(chosen, n_max=n_max, p_min=p_min, synth_rates=())
        arrangements.append(
            Arrangement(
                name=setting(n_max, p_min), profile=replace(base, flag_sets={flag_set: swept}), flag_set=flag_set
            )
        )
    return Design(
        suite=Suite.DRAFT_DEPTH,
        flag_set=flag_set,
        first="better neighbour",
        second="itself",
        arrangements=tuple(arrangements),
        bounds={"cliff": Bound(limit=demands.cliff)},
    )


def setting(n_max: int, p_min: float) -> str:
    """A setting as the server takes it."""
    return f"--spec-draft-n-max {n_max} --spec-draft-p-min {p_min:g}"


def evidence(study: Study) -> Evidence:
    """Speedups of all settings, every setting's speed over its better neighbour's, and which to take."""
    campaigns = {one.name: one.campaign for one in study.variants}
    speedups = {
        name: both_arms(campaign, f"speedup, {_short(name)}", "speedup", "tok/s", lambda one: one.timings.tps)
        for name, campaign in campaigns.items()
    }
    return Evidence(
        quantities=(*speedups.values(), *_cliffs(campaigns)), notices=(recommendation(campaigns, speedups),)
    )


def _short(name: str) -> str:
    _, n_max, _, p_min = name.split()
    return f"n-max {n_max}, p-min {p_min}"


def _speed(campaign: Campaign) -> Estimate:
    return of_arm(campaign, Arm.MTP, lambda one: one.timings.tps)


def _cliffs(campaigns: Mapping[str, Campaign]) -> Iterator[Quantity]:
    """Of the settings with the first p-min, which differ in n-max alone and stand in its order."""
    p_min = next(iter(campaigns)).split()[-1]
    names = [name for name in campaigns if name.split()[-1] == p_min]
    for place, name in enumerate(names):
        neighbours = [
            _speed(campaigns[one]) for one in (*names[max(place - 1, 0) : place], *names[place + 1 : place + 2])
        ]
        if neighbours:
            better = max(neighbours, key=lambda one: one.log_mean)
            yield in_turn(f"tok/s at {_short(name)}", "cliff", "tok/s", better, _speed(campaigns[name]))


def recommendation(campaigns: Mapping[str, Campaign], speedups: Mapping[str, Quantity]) -> str:
    """The fastest setting, or the smallest that cannot be told from it; no drafts at all where none gains."""
    fastest = max(campaigns, key=lambda name: _speed(campaigns[name]).log_mean)
    equal = [name for name in campaigns if _as_fast(campaigns[name], campaigns[fastest])]
    best = min(equal, key=lambda name: (int(name.split()[1]), campaigns[name].flag_set))
    ratio = speedups[best].ratio.ratio
    if ratio <= 1:
        return f"no setting gains on this machine: the best, {best}, gives {ratio:.2f}x; run without MTP"
    said = f"best here: {best}, {ratio:.2f}x, {speedups[best].second:.1f} tok/s"
    return said if best == fastest else f"{said} (none is proven faster, {_short(fastest)} included)"


def _as_fast(one: Campaign, fastest: Campaign) -> bool:
    """Whether its blocks do not prove it slower than the fastest."""
    return in_turn("", "", "", _speed(fastest), _speed(one)).ratio.p_below(1) > _PROVEN


_PROVEN = 0.05
