"""Do both arms say the same at temperature 0? Wider batches round otherwise, so a difference is told, rarely judged."""

from collections.abc import Iterator
from itertools import takewhile

from pytest_mtp.core.profile import Profile
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.study import Check, Evidence, Study, Suite
from pytest_mtp.core.suites.protocol import Design
from pytest_mtp.core.verdict import Outcome

_AROUND = 40
"""Characters shown on either side of the first difference."""
GATE = "same text"


def design(profile: Profile, flag_set: str) -> Design:
    """The campaign of the flag set: its first answers are kept."""
    return Design(suite=Suite.TEXT, flag_set=flag_set, fewest=0, demands={GATE: float(profile.suites.text.gate)})


def evidence(study: Study) -> Evidence:
    """One check for all classes; each difference with where it begins."""
    campaign = study.variants[0].campaign
    if not campaign.circumstances.greedy:
        said = "answers are drawn by chance, so their texts are not compared"
        return Evidence(checks=(Check(name="texts", outcome=Outcome.NOT_TOLD, said=said),))
    differing = dict(_differences(campaign))
    same = len(campaign.classes) - len(differing)
    gated = bool(study.demands.get(GATE))
    outcome = Outcome.REGRESSION if differing and gated else Outcome.PASS
    said = f"{same} of {len(campaign.classes)} classes have the same greedy text in both arms"
    if differing and gated:
        said = "; ".join([said, *differing.values()])
    check = Check(name="texts", outcome=outcome, said=said)
    return Evidence(checks=(check,), notices=tuple(differing.values()))


def _differences(campaign: Campaign) -> Iterator[tuple[str, str]]:
    for name in campaign.classes:
        plain, mtp = (next(iter(campaign.samples(arm, name)), None) for arm in (Arm.PLAIN, Arm.MTP))
        if plain is None or mtp is None or plain.text_sha256 == mtp.text_sha256:
            continue
        where = "" if plain.text is None or mtp.text is None else f" {first_difference(plain.text, mtp.text)}"
        yield name, f"{name}: the mtp arm says something else{where}"


def first_difference(plain: str, mtp: str) -> str:
    """Where two texts part, with what stands before and after."""
    pairs = zip(plain, mtp, strict=False)
    place = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    before = plain[max(place - _AROUND, 0) : place]
    return (
        f"from character {place}: after {before!r} plain has {plain[place : place + _AROUND]!r}, "
        f"mtp {mtp[place : place + _AROUND]!r}"
    )
