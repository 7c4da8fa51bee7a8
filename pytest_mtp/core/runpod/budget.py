"""What a rented card may cost, and when it must be gone so that it does not cost more."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_mtp.core.runpod.offer import Cloud, Offer
from pytest_mtp.errors import SettingsError

MOST_HOURS = 12.0
"""Whoever sweeps away what is older than this ends nobody's run."""
DISK_USD_PER_GB_MONTH = 0.10
"""The dearest of RunPod's published prices for disks of a running pod; its catalog does not name them."""
_HOURS_PER_MONTH = 730
_HOUR_S = 3600
_LEAST_HOURS = 0.25
_CENT = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What one pod may take; made valid, or SettingsError."""

    limit_usd: float
    hours: float
    disk_gb: int
    """Of all disks that are paid with the pod."""

    def __post_init__(self) -> None:
        """Refuse what is no amount."""
        if not (math.isfinite(self.limit_usd) and self.limit_usd > 0):
            raise SettingsError(f"--limit {self.limit_usd:g} is no amount of USD to spend; give one above 0.")
        if not _LEAST_HOURS <= self.hours <= MOST_HOURS:
            raise SettingsError(f"--hours {self.hours:g} is none of {_LEAST_HOURS:g} to {MOST_HOURS:g}.")

    @property
    def seconds(self) -> int:
        """How long a pod may be there, from the request for it."""
        return int(self.hours * _HOUR_S)

    @property
    def disk_usd(self) -> float:
        """What the disks cost in these hours, about."""
        return self.disk_gb * DISK_USD_PER_GB_MONTH / _HOURS_PER_MONTH * self.hours

    def most_usd(self, price_usd: float) -> float:
        """What a pod at this price per hour costs if it stays to the end."""
        return price_usd * self.hours + self.disk_usd

    def allows(self, price_usd: float) -> bool:
        """Whether that stays within the limit; not for a price that is no number."""
        return self.most_usd(price_usd) <= self.limit_usd


def affordable(offers: Sequence[Offer], budget: Budget) -> tuple[Offer, ...]:
    """Those within the limit; SettingsError, with the hours that would be, where none is."""
    able = tuple(one for one in offers if budget.allows(one.price_usd))
    if able:
        return able
    cheapest = min(offers, key=lambda one: one.price_usd)
    most = budget.most_usd(cheapest.price_usd)
    fitting = math.floor(budget.limit_usd / (most / budget.hours) * 100) / 100
    mend = f"--hours {fitting:g} would fit, or " if fitting >= _LEAST_HOURS else ""
    raise SettingsError(
        f"{cheapest.gpu} for {budget.hours:g} h would cost {usd(most)}, more than the --limit of "
        f"{usd(budget.limit_usd)}: {mend}raise --limit. Nothing was rented."
    )


def cost_lines(offers: Sequence[Offer], budget: Budget, cloud: Cloud) -> tuple[str, ...]:
    """What is about to be rented and what it costs at most, before anything is."""
    dearest = max(budget.most_usd(one.price_usd) for one in offers)
    rows = tuple(
        f"{number}. {one.gpu}, {cloud.value.lower()} cloud: {one.price_usd:.3f} USD/h x {budget.hours:g} h "
        f"= {usd(one.price_usd * budget.hours)}"
        for number, one in enumerate(offers, 1)
    )
    return (
        *rows,
        f"Disks of {budget.disk_gb} GB: about {usd(budget.disk_usd)} in that time.",
        f"At most {usd(dearest)}, of a limit of {usd(budget.limit_usd)}. RunPod bills by the second; the pod is "
        "deleted when the work is done, and after these hours whatever happens.",
    )


def usd(amount: float) -> str:
    """``1.23 USD``; what is less than half a cent is said to be."""
    return "less than 0.01 USD" if 0 < amount < _CENT else f"{amount:.2f} USD"
