"""What an interrupted run leaves, and what the next one takes up; the servers are fake, the files are not."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from pytest_mtp.core.request_table import RequestTable
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.side import Side
from pytest_mtp.runtime.cache import STAMP, Cache
from pytest_mtp.runtime.journal import Journals
from pytest_mtp.runtime.measure import run_campaign, run_in_turn
from pytest_mtp.runtime.plan import Measured, Plan
from pytest_mtp.runtime.progress import Progress, silent
from tests.runtime.conftest import PlanOf

MORNING, EVENING = "2026-01-01T08:00:00+00:00", "2026-01-01T20:00:00+00:00"


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@contextmanager
def a_run(cache: Cache, *, resume: bool = False, over: bool = False) -> Iterator[Journals]:
    """One run; unless it is over it ends as by force: its blocks stay."""
    journals = Journals(cache=cache, resume=resume)
    try:
        yield journals
    finally:
        journals.close(over=over)


def until(blocks: int) -> Callable[[Measured], bool]:
    return lambda so: len(so[Side.HEAD].valid) >= blocks


def measured(plan: Plan, blocks: int = 4, at: str = EVENING, progress: Progress = silent) -> Campaign:
    *_, last = run_campaign(plan, at, until(blocks), progress)
    return last[Side.HEAD]


def interrupted(plan: Plan, cache: Cache, blocks: int) -> Campaign:
    """A campaign of which this many blocks are finished, and no more."""
    with a_run(cache) as journals:
        return measured(replace(plan, journals=journals), blocks, MORNING)


def started(plan: Plan) -> set[str]:
    """The servers of a run, by the block and arm in the names of their folders."""
    return {one.name.removeprefix("n3-") for one in plan.folder.iterdir() if one.name.startswith("n3-")}


def test_what_was_finished_is_not_measured_again(plan_of: PlanOf, cache: Cache, tmp_path: Path) -> None:
    before = interrupted(plan_of(), cache, 2)
    plan = plan_of(logs=tmp_path / "evening")
    with a_run(cache, resume=True) as journals:
        after = measured(replace(plan, journals=journals))
    assert after.blocks[:2] == before.blocks
    assert [one.index for one in after.blocks] == [0, 1, 2, 3]
    assert started(plan) == {"2-plain", "2-mtp", "3-plain", "3-mtp"}
    assert (after.started_at, after.resumed) == (MORNING, 2)


def test_what_is_enough_already_starts_no_server(plan_of: PlanOf, cache: Cache, tmp_path: Path) -> None:
    before = interrupted(plan_of(), cache, 2)
    plan = plan_of(logs=tmp_path / "evening")
    with a_run(cache, resume=True) as journals:
        assert measured(replace(plan, journals=journals), 2).blocks == before.blocks
    assert not plan.folder.exists()


def test_without_the_wish_to_resume_a_campaign_is_measured_from_its_first_block(
    plan_of: PlanOf, cache: Cache, tmp_path: Path
) -> None:
    interrupted(plan_of(), cache, 2)
    said: list[str] = []
    plan = plan_of(logs=tmp_path / "evening")
    with a_run(cache) as journals:
        fresh = measured(replace(plan, journals=journals), 1, progress=said.append)
    assert (fresh.resumed, started(plan)) == (0, {"0-plain", "0-mtp"})
    assert any("2 blocks of an interrupted run not taken up" in one for one in said)
    with a_run(cache, resume=True) as journals:
        taken_up = next(run_campaign(replace(plan, journals=journals), EVENING, until(1), silent))
    assert taken_up[Side.HEAD].blocks == fresh.blocks  # the older ones went when the first new one came


def test_a_fresh_run_that_finished_nothing_leaves_what_was_there(plan_of: PlanOf, cache: Cache) -> None:
    before = interrupted(plan_of(), cache, 2)
    with a_run(cache) as journals:
        next(run_campaign(plan_of(journals=journals), EVENING, until(1), silent))
    with a_run(cache, resume=True) as journals:
        taken_up = next(run_campaign(plan_of(journals=journals), EVENING, until(1), silent))
    assert taken_up[Side.HEAD].blocks == before.blocks


@pytest.mark.parametrize(
    "changes",
    [
        {"looks": (3,)},
        {"replacements": 3},
        {"part": "again"},
        {"rules": {"floors": {"a": 1.1}}},
        {"request": RequestTable(tokens=9, template="<{prompt}>", stream=True)},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_blocks_of_other_rules_are_not_taken_up(plan_of: PlanOf, cache: Cache, changes: dict[str, object]) -> None:
    interrupted(plan_of(), cache, 1)
    with a_run(cache, resume=True) as journals:
        begin = next(run_campaign(plan_of(journals=journals, **changes), EVENING, until(1), silent))
    assert begin[Side.HEAD].blocks == ()


def test_blocks_of_another_build_are_not_taken_up(plan_of: PlanOf, cache: Cache) -> None:
    plan = plan_of()
    interrupted(plan, cache, 1)
    other = replace(plan.circumstances[Side.HEAD], build="another")
    with a_run(cache, resume=True) as journals:
        changed = replace(plan, circumstances={Side.HEAD: other}, journals=journals)
        assert next(run_campaign(changed, EVENING, until(1), silent))[Side.HEAD].blocks == ()


def test_a_run_that_is_over_leaves_nothing_to_take_up(plan_of: PlanOf, cache: Cache) -> None:
    with a_run(cache, over=True) as journals:
        measured(plan_of(journals=journals), 1)
    assert [one.suffix for one in (cache.root / "unfinished").iterdir()] == [".lock"]


def test_a_file_that_cannot_be_read_and_what_follows_it_is_measured_again(plan_of: PlanOf, cache: Cache) -> None:
    before = interrupted(plan_of(), cache, 3)
    (damaged,) = (cache.root / "unfinished").glob("*/block-0001.json")
    damaged.write_text("{")
    said: list[str] = []
    with a_run(cache, resume=True) as journals:
        plan = plan_of(journals=journals)
        after = measured(plan, 2, progress=said.append)
    assert (after.blocks[0], after.resumed, len(after.blocks)) == (before.blocks[0], 1, 2)
    assert any("blocks from 2 on are measured again" in one for one in said)
    with a_run(cache, resume=True) as journals:  # the third was not of this order any more
        taken_up = next(run_campaign(plan_of(journals=journals), EVENING, until(1), silent))
    assert taken_up[Side.HEAD].blocks == after.blocks


def test_two_runs_at_once_do_not_share_blocks(plan_of: PlanOf, cache: Cache) -> None:
    said: list[str] = []
    with a_run(cache) as first, a_run(cache, resume=True) as second:
        measured(plan_of(journals=first), 1)
        begin = next(run_campaign(plan_of(journals=second), EVENING, until(1), said.append))
    assert begin[Side.HEAD].blocks == ()
    assert any("another run measures the same" in one for one in said)


def test_a_folder_that_cannot_be_written_is_said_and_measuring_goes_on(plan_of: PlanOf, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("no folder")
    said: list[str] = []
    with a_run(Cache(tmp_path / "cache")) as journals:
        assert len(measured(plan_of(journals=journals), 1, progress=said.append).blocks) == 1
    assert any("blocks are not kept to be resumed" in one for one in said)


def test_an_interrupted_round_goes_on_where_it_was(plan_of: PlanOf, cache: Cache, tmp_path: Path) -> None:
    """Of two campaigns in turn the second one's first block is missing: it comes before the others' second."""
    with a_run(cache) as journals:
        for name, blocks in (("one", 2), ("two", 1)):
            measured(plan_of(part=name, journals=journals), blocks, MORNING)
    with a_run(cache, resume=True) as journals:
        plans = {name: plan_of(part=name, logs=tmp_path / "evening", journals=journals) for name in ("one", "two")}
        rounds = list(islice(run_in_turn(plans, EVENING, until(3), silent), 2))
    assert [{name: len(one.blocks) for name, one in campaigns.items()} for campaigns in rounds] == [
        {"one": 2, "two": 2},
        {"one": 3, "two": 3},
    ]


def test_a_whole_round_is_shown_before_the_next_one_begins(plan_of: PlanOf, cache: Cache) -> None:
    with a_run(cache) as journals:
        for name in ("one", "two"):
            measured(plan_of(part=name, journals=journals), 1, MORNING)
    with a_run(cache, resume=True) as journals:
        plans = {name: plan_of(part=name, journals=journals) for name in ("one", "two")}
        first = next(run_in_turn(plans, EVENING, until(2), silent))
    assert {name: len(one.blocks) for name, one in first.items()} == {"one": 1, "two": 1}


def test_what_lacked_time_and_what_was_finished_before_is_kept_for_another_run(plan_of: PlanOf, cache: Cache) -> None:
    """Else the next run under the same limit would measure the first campaign again, and never come to the second."""
    with a_run(cache, over=True) as journals:
        measured(plan_of(part="one", journals=journals), 1)
        late = plan_of(part="two", journals=journals, deadline=time.monotonic())
        *_, stopped = run_campaign(late, EVENING, until(1), silent)
    assert "--mtp-max-time" in str(stopped[Side.HEAD].stopped)
    with a_run(cache, resume=True) as journals:
        taken_up = next(run_campaign(plan_of(part="one", journals=journals), EVENING, until(1), silent))
    assert len(taken_up[Side.HEAD].blocks) == 1


def tampered(cache: Cache, number: int, change: Callable[[dict[str, Any]], None]) -> None:
    (path,) = (cache.root / "unfinished").glob(f"*/block-{number:04}.json")
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def _as_the_first(document: dict[str, Any]) -> None:
    document["blocks"]["head"]["index"] = 0


def _of_another_morning(document: dict[str, Any]) -> None:
    document["started_at"] = EVENING


def _without_starts(document: dict[str, Any]) -> None:
    document["blocks"]["head"]["starts"] = []


def _without_samples(document: dict[str, Any]) -> None:
    for start in document["blocks"]["head"]["starts"]:
        start["samples"] = []


@pytest.mark.parametrize("change", [_as_the_first, _of_another_morning, _without_starts, _without_samples])
def test_a_file_that_is_not_the_block_of_its_place_is_measured_again(
    plan_of: PlanOf, cache: Cache, change: Callable[[dict[str, Any]], None]
) -> None:
    before = interrupted(plan_of(), cache, 2)
    tampered(cache, 1, change)
    with a_run(cache, resume=True) as journals:
        begin = next(run_campaign(plan_of(journals=journals), EVENING, until(1), silent))
    assert begin[Side.HEAD].blocks == before.blocks[:1]


def test_a_folder_that_is_half_removed_is_not_taken_up(plan_of: PlanOf, cache: Cache) -> None:
    """What is discarded loses its stamp first, so that what a kill leaves of it counts for nothing."""
    interrupted(plan_of(), cache, 2)
    (stamp,) = (cache.root / "unfinished").glob(f"*/{STAMP}")
    stamp.unlink()
    with a_run(cache, resume=True) as journals:
        begin = next(run_campaign(plan_of(journals=journals), EVENING, until(1), silent))
    assert begin[Side.HEAD].blocks == ()


def test_what_went_on_record_is_not_taken_up_to_be_recorded_again(plan_of: PlanOf, cache: Cache) -> None:
    with a_run(cache) as journals:
        measured(plan_of(journals=journals), 1)
        journals.settle("n3")
    with a_run(cache, resume=True) as journals:
        begin = next(run_campaign(plan_of(journals=journals), EVENING, until(1), silent))
    assert begin[Side.HEAD].blocks == ()


def failed_or(blocks: int) -> Callable[[Measured], bool]:
    return lambda so: bool(so[Side.HEAD].failures) or len(so[Side.HEAD].valid) >= blocks


def test_an_arm_that_failed_is_not_started_again(plan_of: PlanOf, cache: Cache, tmp_path: Path) -> None:
    """It failed twice already, and that is a finding: an interruption must not buy it a third chance."""
    with a_run(cache) as journals:
        *_, last = run_campaign(plan_of(mtp="dies-loading", journals=journals), MORNING, failed_or(1), silent)
    before = last[Side.HEAD]
    assert before.failures
    plan = plan_of(mtp="dies-loading", logs=tmp_path / "evening")
    with a_run(cache, resume=True) as journals:
        *_, again = run_campaign(replace(plan, journals=journals), EVENING, failed_or(1), silent)
    assert (again[Side.HEAD].failures, again[Side.HEAD].started_at) == (before.failures, MORNING)
    assert not plan.folder.exists()
