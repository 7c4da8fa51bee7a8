"""The sequential test: evidence below the limit, above it, or neither yet.

Described, and simulated, in docs/decision.md: one-sided t tests on log ratios over blocks, at looks that
were fixed before, alpha shared equally among them; Holm over the classes for a regression (any
one turns the run red), none for a pass (all of them must pass: an intersection-union test).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol

from pytest_mtp.core.profile import Gate


class Quantity(Protocol):
    """What can be held against a limit: a speedup, or the change of a speed."""

    def p_below(self, limit: float) -> float:
        """One-sided p against "at or above ``limit``"."""

    def p_above(self, limit: float) -> float:
        """One-sided p against "at or below ``limit``"."""

    def interval(self, level: float) -> tuple[float, float]:
        """Two-sided interval at ``level``."""


class Finding(Enum):
    """What the evidence of one class says about its limit."""

    ABOVE = "above"
    BELOW = "below"
    OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The finding of one class, with the two-sided level of the interval that decided it."""

    finding: Finding
    level: float
    low: float
    high: float


def holm(p_values: Mapping[str, float], alpha: float) -> dict[str, float]:
    """Holm's step-down: each rejected name with the alpha it was tested at (Holm 1979)."""
    rejected: dict[str, float] = {}
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        tested_at = alpha / (len(p_values) - rank)
        if not p <= tested_at:  # also of no number
            break
        rejected[name] = tested_at
    return rejected


def weigh(estimates: Mapping[str, Quantity], limits: Mapping[str, float], gate: Gate) -> dict[str, Evidence]:
    """Hold every class that has a limit against it, at one look."""
    p_below = {name: estimates[name].p_below(limit) for name, limit in limits.items()}
    rejected = holm(p_below, gate.alpha_look)
    # What stays was tested, first of the rest, at the level after the last rejection.
    stayed_at = gate.alpha_look / max(len(limits) - len(rejected), 1)
    evidence = {}
    for name, limit in limits.items():
        if name in rejected:
            evidence[name] = _evidence(estimates[name], Finding.BELOW, rejected[name])
        elif estimates[name].p_above(limit) < gate.alpha_look:
            evidence[name] = _evidence(estimates[name], Finding.ABOVE, gate.alpha_look)
        else:
            # Below by itself but not after Holm: the interval shown is the one that did not decide.
            tested_at = stayed_at if p_below[name] <= gate.alpha_look else gate.alpha_look
            evidence[name] = _evidence(estimates[name], Finding.OPEN, tested_at)
    return evidence


def unpaid(evidence: Mapping[str, Evidence]) -> dict[str, Evidence]:
    """The same with nothing decided: alpha was shared among the planned looks, and none was left for this one."""
    return {name: replace(one, finding=Finding.OPEN) for name, one in evidence.items()}


def recurring(again: Mapping[str, Quantity], limits: Mapping[str, float], gate: Gate) -> frozenset[str]:
    """The flagged classes that are below their limits in fresh starts too: only these are red.

    One test per class at ``gate.alpha``, without sharing it: the first campaign has paid for all of them, and this one
    can only take a red back.
    """
    return frozenset(name for name, estimate in again.items() if estimate.p_below(limits[name]) <= gate.alpha)


def _evidence(estimate: Quantity, finding: Finding, tested_at: float) -> Evidence:
    level = 1 - 2 * tested_at
    low, high = estimate.interval(level)
    return Evidence(finding=finding, level=level, low=low, high=high)


def settled(evidence: Mapping[str, Evidence]) -> bool:
    """Whether measuring may end at this look: a class is below its limit, or every class is above."""
    findings = [one.finding for one in evidence.values()]
    return Finding.BELOW in findings or all(finding is Finding.ABOVE for finding in findings)
