"""What is MTP worth when several users ask at once, and does every slot get its own drafts and its own text?"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from pytest_mtp.core.profile import Profile
from pytest_mtp.core.sample import Campaign, Sample, Start
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.speedup import Estimate
from pytest_mtp.core.study import Bound, Check, Evidence, Quantity, Study, Suite
from pytest_mtp.core.suites.paired import drafts_told, in_turn, of_arm
from pytest_mtp.core.suites.protocol import Arrangement, Design, studied
from pytest_mtp.core.verdict import Outcome

_WORDS, _NAME = 5, 6
_FEWEST = 2
"""Marks of another's text: of one alone, such as a line that every program has, chance may be the reason."""


def design(profile: Profile, flag_set: str, slots: int) -> Design:
    """The first ``slots`` classes, asked one after the other of a single slot, and at once of as many.

    Alone they are asked of a server of one slot: in one of several, a slot that is broken would be so alone, too.
    """
    demands, classes = profile.suites.parallel, tuple(replace(one, floor=None) for one in profile.classes[:slots])
    alone = studied(profile, classes)
    # Drafts are counted alone, which needs no repetition.
    alone = replace(alone, measure=replace(alone.measure, pairs=1))
    together = replace(
        alone,
        server=replace(alone.server, parallel=slots, ctx=profile.server.ctx * slots),
        measure=replace(alone.measure, pairs=profile.suites.pairs, at_once=True),
    )
    return Design(
        suite=Suite.PARALLEL,
        flag_set=flag_set,
        subject=f"{slots} slots",
        arrangements=(
            Arrangement(name="alone", profile=alone, flag_set=flag_set),
            Arrangement(name="at once", profile=together, flag_set=flag_set),
        ),
        bounds={"throughput": Bound(limit=demands.floor), "drafts": Bound(limit=demands.drafts)},
    )


def evidence(study: Study) -> Evidence:
    """Throughput of both arms, tokens per step of every class at once over alone, and whose text is whose."""
    alone, together = (one.campaign for one in study.variants)
    throughput = in_turn(
        "throughput", "throughput", "tok/s", *(_throughput(together, arm) for arm in (Arm.PLAIN, Arm.MTP))
    )
    return Evidence(quantities=(throughput, *_drafts(alone, together)), checks=(_texts(alone, together),))


def _drafts(alone: Campaign, together: Campaign) -> Iterator[Quantity]:
    for name in together.classes if drafts_told(alone) and drafts_told(together) else ():
        taus = [of_arm(one, Arm.MTP, lambda sample: sample.timings.tau, (name,)) for one in (alone, together)]
        yield in_turn(f"tokens/step, {name}", "drafts", "", *taus, sides=("alone", "at once"))


def _throughput(campaign: Campaign, arm: Arm) -> Estimate:
    """Tokens of all slots per second, from the first request to the last answer of each turn, block by block."""
    return Estimate(tuple(math.log(_tokens_per_second(block.start(arm))) for block in campaign.valid))


def _tokens_per_second(start: Start) -> float:
    pairs = {sample.pair for sample in start.samples}
    turns = [[sample for sample in start.samples if sample.pair == pair] for pair in pairs]
    return sum(sample.timings.predicted_n for sample in start.samples) / sum(map(_lasted_s, turns))


def _lasted_s(turn: list[Sample]) -> float:
    begins = [sample.asked_ms or 0.0 for sample in turn]
    return (max(begin + sample.wall_ms for begin, sample in zip(begins, turn, strict=True)) - min(begins)) / 1000


def _texts(alone: Campaign, together: Campaign) -> Check:
    """Whether what only another class says alone stands in an answer that was asked beside it."""
    if not together.circumstances.greedy:
        said = "answers are drawn by chance, so whose text is whose cannot be told"
        return Check(name="texts", outcome=Outcome.NOT_TOLD, said=said)
    if not all(any(_kept(alone, name)) for name in alone.classes):
        return Check(name="texts", outcome=Outcome.INVALID, said="the texts of each prompt alone were not kept")
    owned = {name: _marks(" ".join(filter(None, _kept(alone, name)))) for name in alone.classes}
    leaks = [leak for name in together.classes for text in _kept(together, name) for leak in _leaks(name, text, owned)]
    if not leaks:
        return Check(name="texts", outcome=Outcome.PASS, said="no slot's text is in another's answer")
    return Check(name="texts", outcome=Outcome.REGRESSION, said=f"{len(leaks)} answers hold another's text: {leaks[0]}")


def _kept(campaign: Campaign, name: str) -> Iterator[str]:
    return (sample.text for arm in Arm for sample in campaign.samples(arm, name) if sample.text is not None)


def _leaks(name: str, text: str, owned: Mapping[str, frozenset[str]]) -> Iterator[str]:
    foreign = _marks(text) - owned[name]
    for other, marks in owned.items():
        if other != name and len(found := sorted(foreign & marks)) >= _FEWEST:
            yield f"the answer to {name} says {found[0]!r} and {found[-1]!r}, as only that to {other} does"
            return


def _marks(text: str) -> frozenset[str]:
    """What two answers do not share by chance: five words in a row, and longer names with a number in them."""
    words = text.split()
    runs = (" ".join(words[place : place + _WORDS]) for place in range(len(words) - _WORDS + 1))
    names = (word for word in words if len(word) >= _NAME and any(map(str.isdigit, word)))
    return frozenset((*runs, *names))
