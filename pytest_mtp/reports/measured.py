"""The numbers of a run for tools that plot them: one quantity of one class each, with its 95 % interval."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_mtp.core.factors import Factors, factors_of
from pytest_mtp.core.run_report import Judged, RunReport
from pytest_mtp.core.speedup import Estimate
from pytest_mtp.core.verdict import Outcome
from pytest_mtp.reports.escaping import one_line

_LEVEL = 0.95
_LONGEST = 1_000
# Those tools put names between backticks, in tables and in pages.
_TELLING = str.maketrans({"`": "'", "|": "¦", "<": "(", ">": ")"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """One measured quantity; the ends are ``None`` for a count."""

    slug: str
    unit: str
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """One class under one flag set."""

    name: str
    """``flagset/class``."""
    outcome: Outcome
    judged: Judged
    factors: Factors

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """What was measured of it, in a fixed order."""
        found = self.factors
        timed = (
            ("speedup", "x", found.speedup),
            ("mtp-tps", "tok/s", found.mtp_tps),
            ("plain-tps", "tok/s", found.plain_tps),
            ("prompt-tps", "tok/s", found.prompt_tps),
            ("step-cost", "plain steps", found.step_cost),
        )
        counts = found.acceptance
        tau = () if counts is None else (Quantity(slug="tau", unit="tokens/step", value=counts.tau),)
        return (*tau, *(one for told in timed if (one := _quantity(*told)) is not None))


def subjects(report: RunReport) -> Iterator[Subject]:
    """Every class that was measured, by what it is called to tools; of a comparison it is the head's."""
    for judged in report.judged:
        campaign = judged.campaign
        measured = {} if campaign.failures else factors_of(campaign, campaign.classes)
        for one in judged.results:
            if one.prompt_class in measured:
                name = _name(f"{campaign.flag_set}/{one.prompt_class}")
                yield Subject(name, one.speed.outcome, judged, measured[one.prompt_class])


def _quantity(slug: str, unit: str, estimate: Estimate) -> Quantity | None:
    low, high = estimate.interval(_LEVEL)
    if not all(map(math.isfinite, (estimate.ratio, low, high))):
        return None
    return Quantity(slug=slug, unit=unit, value=estimate.ratio, low=low, high=high)


def _name(text: str) -> str:
    return one_line(text, _LONGEST).translate(_TELLING)
