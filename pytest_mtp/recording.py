"""Whether a campaign goes on record as a baseline, and what is said of the baseline that is there."""

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_mtp.core.baseline import Recorded, narrowed
from pytest_mtp.core.run_report import Judged
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.settings import Update
from pytest_mtp.runtime.store import Baselines


@dataclass(frozen=True, slots=True)
class Recording:
    """What became of the wish to record a campaign."""

    said: str
    on_record: bool = False


def put_on_record(judged: Judged, baselines: Baselines, update: Update, record: Recorded) -> Recording:
    """Put a campaign on record where it measured what a baseline needs and nothing is overwritten unasked."""
    campaign, file = judged.campaign, baselines.load()
    found = file.sessions(campaign)
    if campaign.failures or campaign.stopped or any(result.speedup is None for result in judged.results):
        return Recording("nothing was recorded: the campaign did not measure what a baseline needs")
    if update is Update.NEW and found and _covers(found[-1].campaign, campaign):
        mend = "--mtp-update-baselines=all replaces it"
        return Recording(f"nothing was recorded: {baselines.path} has a baseline of this ({mend})")
    put = file.with_session if update is Update.SESSION else file.with_record
    baselines.save(put(record))
    return Recording(f"recorded to {baselines.path}", on_record=True)


def baseline_notices(mismatch: str | None, sessions: Sequence[Recorded], now: Campaign) -> tuple[str, ...]:
    """What a reader should know of the baselines that do not judge this campaign."""
    if mismatch:
        return (f"a baseline exists for other circumstances: {mismatch}",)
    if sessions and not _covers(sessions[-1].campaign, now):
        lacking = sorted(set(now.classes) - set(narrowed(sessions[-1].campaign, now).classes))
        return (f"the baseline has not these classes, or with other prompts: {', '.join(lacking)}",)
    return ()


def _covers(then: Campaign, now: Campaign) -> bool:
    """Whether a record has every class, asked as it is asked now."""
    return set(narrowed(then, now).classes) >= set(now.classes)
