"""How noisy a campaign was, and how much of its time the servers worked."""

from statistics import median

from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.speedup import speedup


def block_sd(campaign: Campaign) -> float:
    """The median over the classes of the block sd of ln S, about a relative spread; nan below two blocks."""
    return median(speedup(campaign, name).log_sd for name in campaign.classes)


def worst_block_sd(campaign: Campaign) -> float:
    """The largest block sd of ln S over the classes; nan below two blocks."""
    return max(speedup(campaign, name).log_sd for name in campaign.classes)


def working_share(campaign: Campaign) -> float | None:
    """Server time over wall time of the measuring phase; the rest is ours. ``None`` before any valid block."""
    wall_s = sum(block.measuring_s for block in campaign.valid)
    busy_ms = sum(
        sample.timings.prompt_ms + sample.timings.predicted_ms
        for block in campaign.valid
        for start in block.starts
        for sample in start.samples
    )
    return busy_ms / 1000 / wall_s if wall_s else None
