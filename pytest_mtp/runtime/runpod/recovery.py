"""What calls that were killed have left, and what is older than anybody meant it to be."""

import time
from collections.abc import Iterable
from datetime import UTC, datetime

from pytest_mtp.core.runpod.pod import Pod, stale
from pytest_mtp.errors import PodLeft
from pytest_mtp.runtime.progress import note
from pytest_mtp.runtime.runpod.api import Api
from pytest_mtp.runtime.runpod.records import Record, Records
from pytest_mtp.runtime.runpod.removal import remove


def recover(api: Api, records: Records) -> None:
    """Delete the pods of calls that are dead; PodLeft, after all were tried, where one stays."""
    _each((one for one in records.all(api.say) if one.abandoned), api, records)


def remove_recorded(api: Api, records: Records, names: Iterable[str]) -> None:
    """Delete pods by name, with what is on record of them; a name that is on no record is looked for as well."""
    known = {one.name: one for one in records.all(api.say)}
    _each((known.get(name) or _unknown(name) for name in names), api, records)


def remove_stale(api: Api, records: Records, hours: float) -> tuple[Pod, ...]:
    """Delete those of ours that are older, whoever made them; which they were."""
    old = stale_pods(api, hours)
    remove_recorded(api, records, dict.fromkeys(pod.name for pod in old))
    return old


def stale_pods(api: Api, hours: float) -> tuple[Pod, ...]:
    """Those of ours that are older."""
    return stale(api.pods(), datetime.now(UTC), hours)


def _unknown(name: str) -> Record:
    """What is known of a pod that this machine has no record of."""
    return Record(name=name, made_at=0.0, until=0, pid=0, process_began=0.0)


def _each(found: Iterable[Record], api: Api, records: Records) -> None:
    left: list[str] = []
    for record in found:
        try:
            _remove(record, api, records)
        except PodLeft as error:  # the others are to go all the same
            left.append(str(error))
    if left:
        raise PodLeft("\n".join(left))


def _remove(record: Record, api: Api, records: Records) -> None:
    removed = remove(api, record.name, record.ids)
    if removed:
        api.say(note(f"Deleted pod {' and '.join(removed)} ({record.name})."))
    # One that was asked for a moment ago may still turn up, so it stays on record a while.
    if removed or time.time() - record.made_at > api.pace.settle_s:
        records.forget(record.name)
