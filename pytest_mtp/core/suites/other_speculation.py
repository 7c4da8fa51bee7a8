"""How do other kinds of speculation do here, alone and before MTP, and is any of them far slower than none?"""

from collections.abc import Iterator
from dataclasses import replace

from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.core.flags import kinds_refused
from pytest_mtp.core.profile import Profile
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.server_spec import MTP, Arm
from pytest_mtp.core.study import Bound, Check, Evidence, Quantity, Study, Suite, Variant
from pytest_mtp.core.suite_table import OtherSpeculationTable
from pytest_mtp.core.suites.paired import both_arms, drafts_told, in_turn, of_arm
from pytest_mtp.core.suites.protocol import Arrangement, Design, studied, with_context
from pytest_mtp.core.verdict import Outcome
from pytest_mtp.errors import FlagError

Kinds = tuple[str, ...]

_AND = "+"
"""Between the kinds of a chain, in the profile as in what is shown."""
_NGRAM = "ngram-"
_SMALL = "draft-simple"
_CHAINED = "ngram-mod"
"""Before MTP where the build has it: what llama.cpp's own --spec-default takes."""
_REMEMBERING = frozenset({"ngram-mod", "ngram-cache"})
"""They find n-grams of earlier answers too."""


def design(profile: Profile, flag_set: str, capabilities: Capabilities) -> Design:
    """A campaign of the flag set's own kinds, and one of each other kind and chain that the build can run.

    FlagError where the profile names one that it cannot.
    """
    demands, own = profile.suites.other_speculation, profile.flag_sets[flag_set]
    wanted = tuple(tuple(one.split(_AND)) for one in demands.kinds) or _usual(demands, capabilities)
    refused = {kinds: kinds_refused(kinds, capabilities) for kinds in wanted if kinds != own.kinds}
    if demands.kinds and (why := next(filter(None, refused.values()), None)):
        raise FlagError(f"suites.other_speculation.kinds: {why}.")
    asked = [kinds for kinds, why in refused.items() if why is None]
    base = studied(replace(profile, request=replace(profile.request, tokens=demands.tokens)))
    # What is drafted needs no repetition, and there are many kinds.
    base = replace(with_context(base, base.classes[0].length or 0), measure=replace(base.measure, pairs=2, warmup=1))
    arrangements = []
    for kinds in (own.kinds, *asked):
        small = demands.draft_model if _SMALL in kinds else None
        model = own.draft_model if kinds == own.kinds else small
        other = replace(own, kinds=kinds, synth_rates=(), draft_model=model)
        arrangements.append(
            Arrangement(name=_AND.join(kinds), profile=replace(base, flag_sets={flag_set: other}), flag_set=flag_set)
        )
    return Design(
        suite=Suite.OTHER_SPECULATION,
        flag_set=flag_set,
        second="drafting",
        arrangements=tuple(arrangements),
        fewest=2,
        bounds={"other": Bound(limit=demands.floor)},
        left_out=tuple(filter(None, refused.values())) or ("this build has no other kind",),
    )


def _usual(demands: OtherSpeculationTable, capabilities: Capabilities) -> tuple[Kinds, ...]:
    """Every n-gram kind, one of them before MTP where the build takes several, and a draft model if there is one."""
    ngrams = [kind for kind in capabilities.kinds if kind.startswith(_NGRAM)]
    found: list[Kinds] = [(kind,) for kind in ngrams]
    if ngrams and MTP in capabilities.kinds and capabilities.chains:
        found.append((_CHAINED if _CHAINED in ngrams else ngrams[0], MTP))
    return tuple(found) if demands.draft_model is None else (*found, (_SMALL,))


def evidence(study: Study) -> Evidence:
    """The speedup of each kind; the flag set's own tok/s over the best other kind's, which judges nothing."""
    own, *others = study.variants
    drafting = [one for one in others if not _idle(one.campaign)]
    speedups = [_speedup(own, "own"), *(_speedup(one, "other" if one in drafting else "idle") for one in others)]
    return Evidence(
        quantities=(*speedups, *_against(own, drafting)),
        checks=(*_must_draft(study), Check(name="kinds", outcome=Outcome.PASS, said=_counted(drafting, others))),
        notices=tuple(_notices(study)),
    )


def _speedup(one: Variant, kind: str) -> Quantity:
    return both_arms(one.campaign, f"speedup, {one.name}", kind, "tok/s", lambda each: each.timings.tps)


def _against(own: Variant, others: list[Variant]) -> Iterator[Quantity]:
    """A kind that may know the answer already is no rival."""
    fair = [one for one in others if not _remembers(one)]
    speeds = {one.name: of_arm(one.campaign, Arm.MTP, lambda each: each.timings.tps) for one in (own, *fair)}
    if fair:
        best = max((one.name for one in fair), key=lambda name: speeds[name].log_mean)
        sides = (f"{best}, the best other", own.name)
        yield in_turn(f"{own.name} over {best}", "against", "tok/s", speeds[best], speeds[own.name], sides=sides)


def _must_draft(study: Study) -> Iterator[Check]:
    """A head drafts always; an n-gram only what repeats."""
    for one in study.variants:
        if _idle(one.campaign) and not all(kind.startswith(_NGRAM) for kind in one.name.split(_AND)):
            yield Check(name=one.name, outcome=Outcome.NOT_EXERCISED, said=f"{one.name} drafted nothing")


def _counted(drafting: list[Variant], others: list[Variant]) -> str:
    return f"{len(drafting)} of {len(others)} other kinds drafted"


def _notices(study: Study) -> Iterator[str]:
    for one in study.variants:
        if _idle(one.campaign):
            tokens = one.campaign.circumstances.request.get("tokens", "so few")
            yield (
                f"{one.name} drafted nothing in answers of {tokens} tokens, so its speed says nothing of it; "
                "suites.other_speculation.tokens asks for longer ones"
            )
        elif drafts_told(one.campaign):
            drafted, accepted = _counts(one.campaign)
            yield f"{one.name}: {accepted / drafted:.0%} of {drafted} drafted tokens were accepted"
    if remembering := [one.name for one in study.variants if _remembers(one)]:
        yield f"{', '.join(remembering)} may know an answer from the same prompt before: this is the best case"


def _remembers(one: Variant) -> bool:
    return not _REMEMBERING.isdisjoint(one.name.split(_AND))


def _idle(campaign: Campaign) -> bool:
    return drafts_told(campaign) and not _counts(campaign)[0]


def _counts(campaign: Campaign) -> tuple[int, int]:
    """Tokens that were drafted, and those of them that were accepted."""
    timings = [one.timings for name in campaign.classes for one in campaign.samples(Arm.MTP, name)]
    return sum(one.draft_n or 0 for one in timings), sum(one.draft_n_accepted for one in timings)
