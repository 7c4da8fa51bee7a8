"""What a speedup is made of, block by block: S = tau / c exactly, and the three speeds behind it."""

import math
from dataclasses import dataclass

from pytest_mtp.core.sample import Block, Campaign
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.speedup import FEWEST_BLOCKS, Estimate, block_log_ratio, middle_mean, speedup, throughput
from pytest_mtp.core.tau import Acceptance, acceptance
from pytest_mtp.errors import MeasureError


@dataclass(frozen=True, slots=True, kw_only=True)
class Factors:
    """One class of one campaign, taken apart."""

    acceptance: Acceptance | None
    """``None`` where the engine does not tell its drafts."""
    speedup: Estimate
    step_cost: Estimate
    """Time of one step with drafts over time of one without; empty where drafts are not told."""
    plain_tps: Estimate
    mtp_tps: Estimate
    prompt_tps: Estimate
    """Prompt tokens per second, both arms together; empty where the prompts are too short to be timed."""

    @property
    def tau(self) -> float:
        """Tokens per step; MeasureError where drafts are not told."""
        if self.acceptance is None:
            raise MeasureError("The engine does not tell its drafts, so tokens per step are not known.")
        return self.acceptance.tau


def factors(campaign: Campaign, prompt_class: str) -> Factors | None:
    """The factors of one class; ``None`` while it has no valid sample."""
    if not campaign.samples(Arm.MTP, prompt_class):
        return None
    return Factors(
        acceptance=acceptance(campaign, prompt_class),
        speedup=speedup(campaign, prompt_class),
        step_cost=step_cost(campaign, prompt_class),
        plain_tps=throughput(campaign, Arm.PLAIN, prompt_class),
        mtp_tps=throughput(campaign, Arm.MTP, prompt_class),
        prompt_tps=prompt_speed(campaign, prompt_class),
    )


def factors_of(campaign: Campaign | None, names: tuple[str, ...]) -> dict[str, Factors]:
    """The factors of each of these classes that was measured; of none while there are too few blocks to judge."""
    if campaign is None or len(campaign.valid) < FEWEST_BLOCKS:
        return {}
    found = {name: factors(campaign, name) for name in names if name in campaign.classes}
    return {name: one for name, one in found.items() if one is not None}


def step_cost(campaign: Campaign, prompt_class: str) -> Estimate:
    """The step cost c of one class: in every block c = tau / S, tau being a count and S a time."""
    if not all(one.timings.told for one in campaign.samples(Arm.MTP, prompt_class)):
        return Estimate(())
    return Estimate(
        tuple(
            math.log(_block_tau(block, prompt_class)) - block_log_ratio(block, prompt_class) for block in campaign.valid
        )
    )


def _block_tau(block: Block, prompt_class: str) -> float:
    samples = block.start(Arm.MTP).of(prompt_class)
    return sum(one.timings.predicted_n - 1 for one in samples) / sum(one.timings.steps for one in samples)


# A shorter prompt is one batch whose time is mostly overhead, so its rate says nothing about prompt processing.
SHORTEST_TIMED_PROMPT = 32


def prompt_speed(campaign: Campaign, prompt_class: str) -> Estimate:
    """Prompt tokens per second of one class over both arms; empty where the prompt is too short to be timed."""
    rates = [
        [
            math.log(sample.timings.prompt_tps)
            for start in block.starts
            for sample in start.of(prompt_class)
            if sample.timings.prompt_n >= SHORTEST_TIMED_PROMPT and sample.timings.prompt_ms > 0
        ]
        for block in campaign.valid
    ]
    return Estimate(tuple(middle_mean(block) for block in rates) if all(rates) else ())
