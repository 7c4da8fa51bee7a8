"""From a value to a place on a chart, in percent of its width or height: text keeps its size on every screen."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

_NICE = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values, linear or (``log``) by their logarithms."""

    low: float
    high: float
    log: bool = False

    def percent(self, value: float) -> float:
        """0 at the low end, 100 at the high one; what lies outside is put on the edge."""
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        return round((at - low) / (high - low) * 100, 2)

    def has(self, value: float) -> bool:
        """Whether the value lies inside."""
        return self.low <= value <= self.high

    def ticks(self, most: int = 6) -> tuple[float, ...]:
        """At most ``most`` round values inside."""
        span = self.high - self.low
        power = 10 ** math.floor(math.log10(span / most))
        step = next(power * nice for nice in _NICE if span / (power * nice) <= most)
        first = math.ceil(self.low / step)
        return tuple(round(count * step, 10) for count in range(first, first + most + 1) if count * step <= self.high)


def spanning(values: Iterable[float], *, log: bool = False, room: float = 0.06) -> Axis:
    """The axis of these values with a share of ``room`` at both ends; what is not finite is left out."""
    told = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
    if not told:
        return Axis(0.5, 2.0, log)
    low, high = min(told), max(told)
    if high - low <= abs(high) * 1e-6:
        # One value: a little of its own size around it.
        low, high = low - (abs(low) * 0.02 or 1.0), high + (abs(high) * 0.02 or 1.0)
    if log:
        factor = (high / low) ** room
        return Axis(low / factor, high * factor, log)
    return Axis(low - room * (high - low), high + room * (high - low))


def digits(ticks: tuple[float, ...]) -> int:
    """How many decimals tell these ticks as they are."""
    return next((places for places in range(6) if all(round(tick, places) == tick for tick in ticks)), 6)
