"""What a token costs in energy, by the cards' own word."""

from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.server_spec import Arm


def energy_per_token(campaign: Campaign, arm: Arm) -> float | None:
    """Joules that the cards took for each token of an arm's answers, prompts included; ``None``: not told."""
    starts = [block.start(arm) for block in campaign.valid]
    told = [one.telemetry.energy_j for one in starts if one.telemetry and one.telemetry.energy_j is not None]
    tokens = sum(sample.timings.predicted_n for one in starts for sample in one.samples)
    return sum(told) / tokens if told and len(told) == len(starts) and tokens else None
