"""How many tokens should be drafted on this machine, and is there a setting that falls off a cliff?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pytest_mtp.core.profile import Profile
from pytest_mtp.core.recommendation import Recommendation, recommended
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.served_tables import Serving
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.study import Bound, Evidence, Quantity, Study, Suite
from pytest_mtp.core.suites.paired import both_arms, in_turn, of_arm
from pytest_mtp.core.suites.protocol import Arrangement, Design, studied
from pytest_mtp.errors import SettingsError


def design(profile: Profile, flag_set: str) -> Design:
    """A campaign for every n-max with the flag set's own p-min, and for every p-min with its own n-max.

    The flag set's own setting is among them, whatever is swept. SettingsError where what drafts takes neither.
    """
    chosen, demands = profile.flag_sets[flag_set], profile.suites.draft_depth
    if not chosen.speculation.sized:
        raise SettingsError(f"{' and '.join(chosen.kinds)} take no n-max: sweep a flag set that drafts with MTP.")
    settings = dict.fromkeys((n_max, chosen.p_min) for n_max in sorted({*demands.n_max, chosen.n_max}))
    # vLLM has no p-min.
    of_p_min = () if profile.serving is Serving.VLLM else demands.p_min
    settings |= dict.fromkeys((chosen.n_max, p_min) for p_min in of_p_min)
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
        arrangements=tuple(arrangements),
        fewest=2,
        bounds={"cliff": Bound(limit=demands.cliff)},
        demands={_N_MAX: chosen.n_max, _P_MIN: chosen.p_min},
    )


def setting(n_max: int, p_min: float) -> str:
    """What a setting is called; how a build spells it is told by its command."""
    return f"n-max {n_max}, p-min {p_min:g}"


def evidence(study: Study) -> Evidence:
    """Speedups of all settings, every setting's speed over its better neighbour's, and which to take."""
    speedups = tuple(_speedup(one.campaign, one.name) for one in study.variants)
    campaigns = {one.name: one.campaign for one in study.variants}
    return Evidence(quantities=(*speedups, *_cliffs(campaigns)), notices=(str(recommendation(study)),))


def recommendation(study: Study, classes: Sequence[str] | None = None) -> Recommendation:
    """Which of the settings to take, for these of its classes; for all where none are named."""
    speedups = {
        one.name: _speedup(one.campaign if classes is None else replace(one.campaign, classes=tuple(classes)), one.name)
        for one in study.variants
    }
    return recommended(
        {name: one.ratio for name, one in speedups.items()},
        {name: depth(name)[0] for name in speedups},
        study.gate.alpha_look,
        own_setting(study),
    )


def own_setting(study: Study) -> str | None:
    """The flag set's own setting; ``None`` where a stored report does not tell it."""
    told = study.demands
    return setting(int(told[_N_MAX]), told[_P_MIN]) if {_N_MAX, _P_MIN} <= told.keys() else None


def depth(name: str) -> tuple[int, str]:
    """The n-max and p-min of a setting."""
    _, n_max, _, p_min = name.replace(",", "").split()
    return int(n_max), p_min


def _speedup(campaign: Campaign, name: str) -> Quantity:
    return both_arms(campaign, name, "speedup", "tok/s", lambda one: one.timings.tps)


def _cliffs(campaigns: Mapping[str, Campaign]) -> Iterator[Quantity]:
    """Of the settings with the first p-min, which differ in n-max alone."""
    p_min = depth(next(iter(campaigns)))[1]
    names = sorted((name for name in campaigns if depth(name)[1] == p_min), key=depth)
    speeds = [of_arm(campaigns[name], Arm.MTP, lambda one: one.timings.tps) for name in names]
    for place, name in enumerate(names):
        neighbours = (*speeds[max(place - 1, 0) : place], *speeds[place + 1 : place + 2])
        if neighbours:
            better = max(neighbours, key=lambda one: one.log_mean)
            yield in_turn(
                f"tok/s at n-max {depth(name)[0]}", "cliff", "tok/s", better, speeds[place], sides=_NEIGHBOURS
            )


_N_MAX, _P_MIN = "own n-max", "own p-min"
_NEIGHBOURS = ("better neighbour", "itself")
