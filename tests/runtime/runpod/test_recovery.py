"""What a killed controller leaves is found by the next call, and by a sweep from anywhere."""

import os
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from pytest_mtp.errors import PodLeft
from pytest_mtp.runtime.runpod.api import Api
from pytest_mtp.runtime.runpod.records import Record, Records
from pytest_mtp.runtime.runpod.recovery import recover, remove_recorded, remove_stale
from tests.fakes.runpod import Reply, RunPod

LONG_AGO = 1.0


def of_the_dead(records: Records, name: str, *ids: str) -> Record:
    """A record whose process is no more: its number is ours, and we began later."""
    made = replace(records.begin(name, until=0), ids=ids, process_began=LONG_AGO, made_at=LONG_AGO)
    records.write(made)
    return made


@pytest.mark.parametrize("known", [True, False])
def test_the_pod_of_a_dead_call_is_deleted(peer: RunPod, api: Api, records: Records, *, known: bool) -> None:
    pod = peer.plant("mtp-run-1")
    of_the_dead(records, "mtp-run-1", *([pod.id] if known else []))
    recover(api, records)
    assert peer.pods == {}
    assert records.all(print) == ()


def test_the_pod_of_a_call_that_lives_is_left_alone(peer: RunPod, api: Api, records: Records) -> None:
    pod = peer.plant("mtp-run-1")
    records.begin("mtp-run-1", until=0)
    recover(api, records)
    assert list(peer.pods) == [pod.id]


def test_the_pod_that_a_person_keeps_is_left_alone(peer: RunPod, api: Api, records: Records) -> None:
    pod = peer.plant("mtp-up-1")
    records.keep(of_the_dead(records, "mtp-up-1", pod.id))
    recover(api, records)
    assert list(peer.pods) == [pod.id]


def test_a_process_is_dead_when_its_number_is_nobodys_or_somebody_elses(records: Records) -> None:
    mine = records.begin("mtp-run-1", until=0)
    assert not mine.abandoned
    assert replace(mine, process_began=mine.process_began - 100).abandoned
    assert replace(mine, pid=max(psutil.pids()) + 4_000_000).abandoned


def test_a_pod_that_was_asked_for_a_moment_ago_stays_on_record_until_it_could_have_turned_up(
    peer: RunPod, api: Api, records: Records
) -> None:
    fresh = replace(records.begin("mtp-run-1", until=0), process_began=LONG_AGO)
    records.write(fresh)
    recover(api, records)
    assert [one.name for one in records.all(print)] == ["mtp-run-1"]
    peer.plant("mtp-run-1")
    recover(api, records)
    assert peer.pods == {}
    assert records.all(print) == ()


def test_one_that_stays_does_not_keep_the_others(peer: RunPod, api: Api, records: Records) -> None:
    stuck, free = peer.plant("mtp-run-1"), peer.plant("mtp-run-2")
    of_the_dead(records, "mtp-run-1", stuck.id)
    of_the_dead(records, "mtp-run-2", free.id)
    peer.replies["DELETE /v2/pods/*"] = [Reply(500)] * 3
    with pytest.raises(PodLeft, match=stuck.id):
        recover(api, records)
    assert list(peer.pods) == [stuck.id]
    assert [one.name for one in records.all(print)] == ["mtp-run-1"]


def test_a_sweep_takes_what_is_ours_and_too_old_and_nothing_else(peer: RunPod, api: Api, records: Records) -> None:
    old, young, other = (
        peer.plant("mtp-run-old", hours=13),
        peer.plant("mtp-run-young", hours=11),
        peer.plant("training", hours=99),
    )
    records.keep(of_the_dead(records, "mtp-run-old", old.id))
    assert [pod.id for pod in remove_stale(api, records, 12.0)] == [old.id]
    assert sorted(peer.pods) == sorted([young.id, other.id])
    assert records.all(print) == ()


def test_a_pod_is_deleted_by_its_name_without_a_record(peer: RunPod, api: Api, records: Records) -> None:
    peer.plant("mtp-run-1")
    remove_recorded(api, records, ["mtp-run-1"])
    assert peer.pods == {}


def test_a_record_that_cannot_be_read_is_said_with_the_name_of_its_pod(records: Records, tmp_path: Path) -> None:
    said: list[str] = []
    path = records.place("mtp-run-1") / "pod.json"
    path.write_text("{")
    assert records.all(said.append) == ()
    assert "pytest-mtp runpod down mtp-run-1" in said[0]


def test_a_record_holds_no_key_of_the_account_and_is_for_its_owner_alone(records: Records) -> None:
    record = records.begin("mtp-run-1", until=0)
    place = records.place(record.name)
    assert place.stat().st_mode & 0o777 == 0o700
    assert os.environ.get("RUNPOD_API_KEY", "no key") not in (place / "pod.json").read_text()
