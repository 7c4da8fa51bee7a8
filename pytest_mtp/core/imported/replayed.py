"""Timings that were replayed to pytest-benchmark, put back into blocks and estimated like those of a report."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_mtp.core.history import ClassEntry, entries_of
from pytest_mtp.core.imported import answer
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.run_report import REPORT_VERSION, Judged, RunReport
from pytest_mtp.core.sample import Block, Campaign, Circumstances, Sample, Start
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.speedup import FEWEST_BLOCKS
from pytest_mtp.core.timings import Timings

_FEWEST_FOR_A_RATE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What one benchmark replayed: one arm of one class, block after block."""

    flag_set: str
    prompt_class: str
    arm: Arm
    blocks: tuple[tuple[Timings, ...], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many requests each block has."""
        return tuple(len(block) for block in self.blocks)

    @property
    def timed(self) -> bool:
        """Whether a rate follows from every request."""
        return all(
            one.predicted_n >= _FEWEST_FOR_A_RATE and one.predicted_ms > 0 for block in self.blocks for one in block
        )


def class_entries(played: Sequence[Replayed]) -> dict[str, ClassEntry]:
    """What the history keeps of every class of one flag set."""
    names = dict.fromkeys(one.prompt_class for one in played)
    return {name: _class_entry({one.arm: one for one in played if one.prompt_class == name}) for name in names}


def _class_entry(arms: dict[Arm, Replayed]) -> ClassEntry:
    """From blocks, as of a report, where both arms have the same; else from what there is."""
    shapes = {one.shape for one in arms.values()}
    name = next(iter(arms.values())).prompt_class
    if len(arms) == len(Arm) and len(shapes) == 1 and all(one.timed for one in arms.values()):
        campaign = _campaign(name, arms)
        if len(campaign.blocks) >= FEWEST_BLOCKS:
            return _of_campaign(campaign)
    return answer.class_entries({arm: [_answer(name, each) for each in _all(one)] for arm, one in arms.items()})[name]


def _all(played: Replayed) -> Iterator[Timings]:
    for block in played.blocks:
        yield from block


def _answer(name: str, timings: Timings) -> answer.Answer:
    return answer.Answer(
        prompt_class=name,
        request=name,
        tokens=max(timings.predicted_n - 1, 0),
        ms=timings.predicted_ms or None,
        drafted=timings.draft_n or 0,
        accepted=timings.draft_n_accepted,
        prompt_tokens=timings.prompt_n,
        prompt_ms=timings.prompt_ms or None,
    )


def _of_campaign(campaign: Campaign) -> ClassEntry:
    judged = Judged(campaign=campaign, gate=Gate()).rejudged()
    report = RunReport(version=REPORT_VERSION, created_at="", tool="", profile="", machine={}, judged=(judged,))
    return entries_of("", report)[0].classes[campaign.classes[0]]


def _campaign(name: str, arms: dict[Arm, Replayed]) -> Campaign:
    unknown = Circumstances(
        build="",
        build_label="",
        model="",
        model_label="",
        fingerprint="",
        isolation="",
        flags={},
        request={},
        prompts={},
    )
    blocks = zip(*(arms[arm].blocks for arm in Arm), strict=True)
    return Campaign(
        flag_set="",
        classes=(name,),
        circumstances=unknown,
        started_at="",
        blocks=tuple(_block(name, index, block) for index, block in enumerate(blocks)),
    )


def _block(name: str, index: int, block: tuple[tuple[Timings, ...], ...]) -> Block:
    starts = tuple(
        Start(arm=arm, command="", load_s=0.0, samples=_samples(name, timings))
        for arm, timings in zip(Arm, block, strict=True)
    )
    return Block(index=index, order=tuple(Arm), starts=starts, measuring_s=0.0)


def _samples(name: str, timings: tuple[Timings, ...]) -> tuple[Sample, ...]:
    return tuple(
        Sample(prompt_class=name, pair=pair, timings=one, wall_ms=0.0, text_sha256="")
        for pair, one in enumerate(timings)
    )
