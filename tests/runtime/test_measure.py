"""Campaigns against the fake server: what counts as a block, and when measuring ends."""

import time
from collections.abc import Callable

import pytest

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.card import Card
from pytest_mtp.core.isolation import Isolation
from pytest_mtp.core.sample import Campaign, Stage, Start
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.side import Side
from pytest_mtp.core.telemetry import TelemetrySource
from pytest_mtp.core.validity import Conditions
from pytest_mtp.runtime.measure import run_campaign
from pytest_mtp.runtime.plan import Measured, Plan, against
from pytest_mtp.runtime.progress import Progress, silent
from pytest_mtp.runtime.telemetry.nvml import NvmlWatcher
from tests.fakes.nvml import RTX_3090, FakeNvml
from tests.runtime.conftest import PlanOf


def measured(plan: Plan, blocks: int = 2) -> Campaign:
    return together(plan, lambda so: len(so[Side.HEAD].valid) >= blocks)[Side.HEAD]


def together(plan: Plan, done: Callable[[Measured], bool], progress: Progress = silent) -> Measured:
    """All sides of the last state."""
    *_, so_far = run_campaign(plan, "2026-01-01T00:00:00+00:00", done, progress)
    return so_far


@pytest.mark.parametrize("isolation", [Isolation.SIDE_BY_SIDE, Isolation.ALTERNATE])
def test_every_block_has_every_pair_of_every_class(plan_of: PlanOf, isolation: Isolation) -> None:
    campaign = measured(plan_of(isolation=isolation))
    assert campaign.stopped is None
    assert [block.order for block in campaign.blocks] == [campaign.blocks[0].order, campaign.blocks[0].order[::-1]]
    for block in campaign.valid:
        for arm in Arm:
            pairs = [(s.prompt_class, s.pair) for s in block.start(arm).samples]
            assert pairs == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]


def test_the_counters_of_the_first_pair_are_kept(plan_of: PlanOf) -> None:
    campaign = measured(plan_of(), blocks=1)
    first, second = campaign.blocks[0].start(Arm.MTP).of("a")
    assert first.accepted_per_position == (2, 2, 2)
    assert second.accepted_per_position is None


@pytest.mark.parametrize(
    ("faults", "reason"),
    [
        ({"mtp": "short"}, "mtp a: 8 tokens came, 9 were asked for"),
        ({"plain": "cached"}, "plain a: 4 prompt tokens came from a cache"),
        ({"plain": "plain-drafts"}, "the plain arm drafted 3 tokens"),
        ({"mtp": ""}, "the server claims 4 ms"),
    ],
)
def test_a_broken_precondition_makes_blocks_invalid_until_hope_is_gone(
    plan_of: PlanOf, faults: dict[str, str], reason: str
) -> None:
    campaign = measured(plan_of(**faults))
    assert campaign.stopped == "2 blocks were invalid, 1 may be measured again"
    assert len(campaign.invalid) == 2
    assert all(reason in str(block.invalid) for block in campaign.invalid)


@pytest.mark.parametrize(
    ("faults", "failed", "stage"),
    [
        ({"mtp": "dies-loading"}, [Arm.MTP], Stage.START),
        ({"plain": "dies-loading", "mtp": "dies-loading"}, [Arm.PLAIN, Arm.MTP], Stage.START),
        ({"mtp": "dies-answering"}, [Arm.MTP], Stage.WARM_UP),
        ({"mtp": "not-speculative"}, [Arm.MTP], Stage.START),
    ],
)
def test_an_arm_that_cannot_be_had_is_a_finding(
    plan_of: PlanOf, faults: dict[str, str], failed: list[Arm], stage: Stage
) -> None:
    campaign = together(plan_of(**faults), lambda so: bool(so[Side.HEAD].failures))[Side.HEAD]
    assert [failure.arm for failure in campaign.failures] == failed
    assert {failure.stage for failure in campaign.failures} == {stage}


def test_no_block_starts_after_the_deadline(plan_of: PlanOf) -> None:
    campaign = measured(plan_of(deadline=time.monotonic() - 1))
    assert campaign.stopped == "the time limit ended it after 0 valid blocks (--mtp-max-time)"
    assert campaign.blocks == ()


def test_progress_names_flag_set_block_and_class(plan_of: PlanOf) -> None:
    said: list[str] = []
    together(plan_of(), lambda so: len(so[Side.HEAD].valid) >= 1, said.append)
    assert "n3: block 1 of 2 (at most 2): b 2/2" in said


@pytest.mark.parametrize("isolation", [Isolation.SIDE_BY_SIDE, Isolation.ALTERNATE])
def test_every_start_carries_what_was_seen_of_the_machine(plan_of: PlanOf, isolation: Isolation) -> None:
    (block,) = measured(plan_of(isolation=isolation), blocks=1).valid
    for start in block.starts:
        assert start.telemetry is not None
        assert start.telemetry.source is TelemetrySource.NONE
        assert start.telemetry.rss_bytes is not None


def test_a_throttled_card_makes_its_blocks_invalid_and_keeps_the_evidence(plan_of: PlanOf) -> None:
    hot = FakeNvml([RTX_3090 | {"CurrentClocksEventReasons": 0x40}])
    card = Card(index=0, uuid="GPU-3090aaaa", name="RTX 3090")
    campaign = measured(plan_of(watch=lambda: NvmlWatcher([card], hot)))
    assert campaign.stopped == "2 blocks were invalid, 1 may be measured again"
    assert "throttled (thermal slowdown by the hardware) in 100% of the readings" in str(campaign.blocks[0].invalid)
    assert [start.arm for start in campaign.blocks[0].starts] == list(campaign.blocks[0].order)


def test_a_gpu_build_that_computes_on_the_cpu_makes_its_blocks_invalid(plan_of: PlanOf) -> None:
    campaign = measured(plan_of(conditions=Conditions(backend=Backend.CUDA, gpu_layers=99)))
    assert "put no layer on a card and computed on the CPU" in str(campaign.blocks[0].invalid)


@pytest.mark.parametrize("isolation", [Isolation.SIDE_BY_SIDE, Isolation.ALTERNATE])
def test_two_builds_and_a_control_share_their_blocks(plan_of: PlanOf, isolation: Isolation) -> None:
    so_far = together(against(plan_of(), plan_of(), isolation), lambda so: len(so[Side.HEAD].valid) >= 2)
    assert {side: len(one.valid) for side, one in so_far.items()} == dict.fromkeys(Side, 2)
    for index in range(2):
        starts = [start for one in so_far.values() for start in one.blocks[index].starts]
        assert sorted(start.place for start in starts) == [0, 1, 2, 3, 4]
        assert [start.arm for start in so_far[Side.CONTROL].blocks[index].starts] == [Arm.MTP]
    places = [[start.place for one in so_far.values() for start in sorted_(one, index)] for index in range(2)]
    assert [4 - place for place in places[0]] == places[1], "the second block mirrors the first"


def sorted_(campaign: Campaign, index: int) -> list[Start]:
    return sorted(campaign.blocks[index].starts, key=lambda start: start.arm.value)


def test_what_breaks_one_side_makes_the_block_invalid_for_all(plan_of: PlanOf) -> None:
    plan = against(plan_of(), plan_of(mtp="short"), Isolation.SIDE_BY_SIDE)
    so_far = together(plan, lambda so: len(so[Side.HEAD].valid) >= 1)
    assert {len(one.valid) for one in so_far.values()} == {0}
    assert all("mtp a: 8 tokens came" in str(one.blocks[0].invalid) for one in so_far.values())


@pytest.mark.parametrize(("head", "base"), [("dies-loading", "honest"), ("honest", "dies-loading")])
def test_a_side_that_does_not_start_is_told_from_the_other(plan_of: PlanOf, head: str, base: str) -> None:
    plan = against(plan_of(mtp=head), plan_of(mtp=base), Isolation.SIDE_BY_SIDE)
    so_far = together(plan, lambda so: any(one.failures for one in so.values()))
    failed = {side: [one.arm for one in campaign.failures] for side, campaign in so_far.items()}
    guilty, innocent = (Side.HEAD, Side.BASE) if head == "dies-loading" else (Side.BASE, Side.HEAD)
    assert (failed[guilty], failed[innocent]) == ([Arm.MTP], [])
