"""How soon a history turns red, and how often for nothing: ``python -m tests.laboratory.nights [--histories 20]``.

One series with a loss and a change of driver, then nine classes by seven metrics without any change, each night
judged as the nightly run would; nobody acknowledges anything. Needs the extra ``nightly``; some minutes.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

import numpy as np

from pytest_mtp.core.history import Key, Metric, Point, Series, Value
from pytest_mtp.core.nightly import judge_history

_CLASSES = 9
_SHARED = 0.5
"""Of the variance of a night: half of it is the machine's, alike in all series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nights:
    """What is true of a history; the first night is 1."""

    count: int = 120
    sd: float = 0.015
    """Of the logarithm of a value, from night to night."""
    loss: float = 0.0
    loss_at: int = 80
    bad: float = 0.0
    """Share of the nights in which a neighbour slowed everything by a tenth."""
    driver_at: int | None = None
    """The night of another driver, which moves the level by ``driver_jump``."""
    driver_jump: float = -0.03

    def histories(self, keys: Sequence[Key], seed: int) -> tuple[Series, ...]:
        """One series per key."""
        rng = np.random.default_rng(seed)
        night = rng.normal(0, self.sd * _SHARED**0.5, self.count)
        own = rng.normal(0, self.sd * (1 - _SHARED) ** 0.5, (len(keys), self.count))
        night -= 0.1 * (rng.random(self.count) < self.bad)
        return tuple(Series(key, tuple(self._points(night + one))) for key, one in zip(keys, own, strict=True))

    def _points(self, noise: Sequence[float]) -> Iterator[Point]:
        for night, one in enumerate(noise, start=1):
            later = self.driver_at is not None and night >= self.driver_at
            level = (1 + self.driver_jump * later) * (1 - self.loss * (night >= self.loss_at))
            yield Point(
                run=f"night-{night:03}",
                at=f"{night:03}",
                build=f"b{night}",
                value=Value(1.5 * level * float(np.exp(one))),
                segment=f"driver {later}",
                facts={"driver": "2" if later else "1"},
            )


def red_nights(series: Sequence[Series], family: int | None) -> tuple[int, ...]:
    """The nights whose verdict is red; the first night is 1."""
    runs = [point.run for point in series[0].points]
    return tuple(night for night, run in enumerate(runs, start=1) if judge_history(series, run, family=family).red)


def alarms(red: Sequence[int]) -> int:
    """How often it turned red."""
    return len(red[:1]) + sum(then + 1 < now for then, now in pairwise(red))


def one_series() -> tuple[Key, ...]:
    """The speedup of one class."""
    return (Key("profile", "n3", "code", Metric.SPEEDUP.value),)


def all_series() -> tuple[Key, ...]:
    """Every metric of nine classes, as if each had the noise of the speedup."""
    return tuple(Key("profile", "n3", f"class{one}", metric.value) for one in range(_CLASSES) for metric in Metric)


def loss_row(nights: Nights, family: int, histories: int) -> str:
    """How a loss at night 80, after another driver at night 40, is found among so many series."""
    red = [red_nights(nights.histories(one_series(), seed), family) for seed in range(histories)]
    delays = [next((night for night in one if night >= nights.loss_at), None) for one in red]
    after = [night - nights.loss_at + 1 for night in delays if night is not None]
    driver = sum(any(40 <= night < 60 for night in one) for one in red)
    false = sum(alarms([night for night in one if night < nights.loss_at]) for one in red)
    found = "/".join(f"{sum(one <= limit for one in after) / histories:.2f}" for limit in (1, 2, 3, 5, 7, 14))
    middle = f"{median(after):g}" if after else "-"
    what = f"| {nights.loss:.0%} | {nights.bad:.0%} | {family}"
    return f"{what} | {found} | {middle} | {max(after, default=0)} | {driver} | {false} |"


def quiet_row(keys: Sequence[Key], nights: Nights, family: int, histories: int) -> str:
    """What a history without any change costs."""
    red = [red_nights(nights.histories(keys, 1000 + seed), family) for seed in range(histories)]
    times, lasting = [alarms(one) for one in red], [len(one) for one in red]
    what = f"| {len(keys)} | {nights.bad:.0%} | {family} | {sum(not one for one in red)} of {histories}"
    return f"{what} | {fmean(times):.2f} | {fmean(lasting):.1f} |"


def table(histories: int) -> Iterator[str]:
    """Lines of two tables."""
    yield "| loss | bad nights | family | found within 1/2/3/5/7/14 nights | median | last | at the driver | false |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for loss, bad in ((0.03, 0.0), (0.05, 0.0), (0.10, 0.0), (0.05, 0.03)):
        for family in (1, len(all_series())):
            yield loss_row(Nights(loss=loss, bad=bad, driver_at=40), family, histories)
    yield ""
    yield "| series | bad nights | family | histories without red | alarms per history | red nights per history |"
    yield "| --- | --- | --- | --- | --- | --- |"
    yield quiet_row(one_series(), Nights(), 1, histories)
    for bad, family in ((0.0, len(all_series())), (0.03, len(all_series())), (0.0, 1)):
        yield quiet_row(all_series(), Nights(bad=bad), family, histories)


def main() -> None:
    """Print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=20)
    for line in table(parser.parse_args().histories):
        print(line, flush=True)  # noqa: T201 - what it is for


if __name__ == "__main__":
    main()
