"""How often the draft at each place is accepted: the first more often than those that build on it."""

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_mtp.core.run_report import Judged
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.reports.html.numeral import share


@dataclass(frozen=True, slots=True)
class Bar:
    """One place of the draft."""

    place: int
    x: float
    width: float
    """Percent, as is ``x``."""
    share: float
    """Accepted over steps, 0 to 1."""
    said: str


@dataclass(frozen=True, slots=True)
class Bars:
    """One class."""

    name: str
    bars: tuple[Bar, ...]
    steps: int
    """Behind them."""

    @property
    def summary(self) -> str:
        """In words."""
        told = ", ".join(f"place {bar.place} {bar.said}" for bar in self.bars)
        return f"{self.name}: accepted in {told} of {self.steps} steps"


def bars(judged: Judged) -> tuple[Bars, ...]:
    """Every class whose build counts by place."""
    return tuple(_bars(judged.campaign))


def _bars(campaign: Campaign) -> Iterator[Bars]:
    for name in campaign.classes:
        told = [one for one in campaign.samples(Arm.MTP, name) if one.accepted_per_position]
        steps = sum(one.timings.steps for one in told)
        counts = [one.accepted_per_position or () for one in told]
        places = max((len(one) for one in counts), default=0)
        if places and steps:
            sums = [sum(one[place] for one in counts if place < len(one)) for place in range(places)]
            width = 100 / places
            yield Bars(
                name,
                tuple(
                    Bar(
                        index + 1,
                        round((index + 0.12) * width, 2),
                        round(0.76 * width, 2),
                        got / steps,
                        share(got / steps),
                    )
                    for index, got in enumerate(sums)
                ),
                steps,
            )
