"""What does MTP cost in memory, and does it grow while the server answers?"""

import math
from statistics import fmean

from pytest_mtp.core.isolation import Isolation
from pytest_mtp.core.profile import Profile
from pytest_mtp.core.sample import Campaign, Start
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.speedup import Estimate
from pytest_mtp.core.study import Bound, Check, Evidence, Quantity, Study, Suite
from pytest_mtp.core.suites.protocol import Design
from pytest_mtp.core.telemetry import Level
from pytest_mtp.core.verdict import Outcome

_MIB = 2**20


def design(profile: Profile, flag_set: str) -> Design:
    """The campaign of the flag set: what its servers held while they answered."""
    demands = profile.suites.memory
    return Design(
        suite=Suite.MEMORY,
        flag_set=flag_set,
        fewest=0,
        bounds={"head": Bound(limit=demands.head, most=True), "growth": Bound(limit=demands.growth, most=True)},
    )


def evidence(study: Study) -> Evidence:
    """Memory of the processes, and of the cards where they tell it: mtp over plain, and the end over the start.

    A card tells what is taken of it as a whole, so of servers that share it nothing can be said apart.
    """
    campaign = study.variants[0].campaign
    shared = campaign.circumstances.isolation == Isolation.SIDE_BY_SIDE.value
    kinds = ("rss_bytes",) if shared else ("rss_bytes", "memory_bytes")
    found = [one for kind in kinds for one in _of_kind(campaign, kind)]
    on_card = shared and any(_level(start, "memory_bytes") for block in campaign.valid for start in block.starts)
    notices = ("both servers were on the card at once, so its memory is not compared: --mtp-isolation alternate",)
    if found:
        return Evidence(quantities=tuple(found), notices=notices if on_card else ())
    untold = Check(name="memory", outcome=Outcome.NOT_TOLD, said="no memory was told of these servers")
    return Evidence(checks=(untold,), notices=notices if on_card else ())


_NAMES = {"rss_bytes": "process memory", "memory_bytes": "card memory"}


def _of_kind(campaign: Campaign, kind: str) -> list[Quantity]:
    levels = {arm: [_level(block.start(arm), kind) for block in campaign.valid] for arm in Arm}
    told = {
        arm: [one for one in each if one is not None and min(one.start, one.end) > 0] for arm, each in levels.items()
    }
    if any(len(each) != len(campaign.valid) or not each for each in told.values()):
        return []
    plain, mtp = ([one.peak for one in told[arm]] for arm in (Arm.PLAIN, Arm.MTP))
    starts, ends = ([getattr(one, edge) for one in told[Arm.MTP]] for edge in ("start", "end"))
    return [
        _ratio(f"peak {_NAMES[kind]}", "head", plain, mtp),
        _ratio(f"{_NAMES[kind]}, mtp", "growth", starts, ends, ("first request", "last request")),
    ]


def _level(start: Start, kind: str) -> Level | None:
    level: Level | None = None if start.telemetry is None else getattr(start.telemetry, kind)
    return level


def _ratio(name: str, kind: str, first: list[int], second: list[int], sides: tuple[str, str] | None = None) -> Quantity:
    return Quantity(
        name=name,
        kind=kind,
        unit="MiB",
        first=fmean(first) / _MIB,
        second=fmean(second) / _MIB,
        ratio=Estimate(tuple(math.log(new / old) for old, new in zip(first, second, strict=True))),
        sides=sides,
    )
