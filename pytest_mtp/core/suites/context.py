"""Does MTP still gain after a long prompt? Sizes just below and above multiples of 2048 broke it before."""

from collections.abc import Iterator
from dataclasses import replace

from pytest_mtp.core.profile import Profile
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.speedup import speedup
from pytest_mtp.core.study import Bound, Evidence, Quantity, Study, Suite
from pytest_mtp.core.suites.paired import drafts_told, in_turn, of_arm
from pytest_mtp.core.suites.protocol import Arrangement, Design, asked, raw, studied, with_context


def design(profile: Profile, flag_set: str) -> Design:
    """One class behind texts of growing length, all in the same servers."""
    demands, (wanted, *_) = profile.suites.context, asked(profile)
    depths = tuple(sorted(demands.depths))
    classes = tuple(replace(wanted, name=f"{wanted.name}@{depth}", length=depth, floor=None) for depth in depths)
    deep = with_context(studied(raw(profile), classes), depths[-1])
    return Design(
        suite=Suite.CONTEXT,
        flag_set=flag_set,
        first=f"at {depths[0]}",
        second="deep",
        arrangements=(
            # Long prompts are dear, and it is drafts that they break, which need no repetition.
            Arrangement(
                name="depths", profile=replace(deep, measure=replace(deep.measure, pairs=2)), flag_set=flag_set
            ),
        ),
        bounds={"speedup": Bound(limit=demands.floor), "drafts": Bound(limit=demands.drafts)},
    )


def evidence(study: Study) -> Evidence:
    """Speedup and tokens per step of every depth over those of the first one."""
    return Evidence(quantities=tuple(_quantities(study)))


def _quantities(study: Study) -> Iterator[Quantity]:
    campaign = study.variants[0].campaign
    first, *deeper = campaign.classes
    for name in deeper:
        depth = name.rpartition("@")[2]
        yield in_turn(f"speedup at {depth}", "speedup", "x", speedup(campaign, first), speedup(campaign, name))
        if not drafts_told(campaign):
            continue
        taus = [of_arm(campaign, Arm.MTP, lambda one: one.timings.tau, (each,)) for each in (first, name)]
        yield in_turn(f"tokens/step at {depth}", "drafts", "", *taus)
