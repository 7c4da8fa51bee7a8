"""The Prometheus text of ``/metrics``, of a server that may write anything there."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pytest_mtp.errors import MeasureError

# Several times what any server writes. The parser's time grows with the square of a line's length.
_MOST_LETTERS, _LONGEST_LINE = 2**22, 4096


@dataclass(frozen=True, slots=True)
class Counter:
    """One sample of a counter."""

    name: str
    labels: dict[str, str]
    value: float


def counters(text: str) -> tuple[Counter, ...]:
    """Every sample of a counter, in its order; MeasureError where it is no such text."""
    if len(text) > _MOST_LETTERS or max(map(len, text.split("\n"))) > _LONGEST_LINE:
        raise MeasureError(
            f"/metrics has {len(text)} letters; of more than {_MOST_LETTERS}, or above {_LONGEST_LINE} in one line, it "
            "is not read."
        )
    try:
        return tuple(Counter(one.name, dict(one.labels), float(one.value)) for one in _samples(text))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # The parser expects what a Prometheus client writes, and falls over other texts in many ways.
        raise MeasureError(f"/metrics is no Prometheus text: {error!s:.200}.") from error


def _samples(text: str) -> Iterator[Any]:
    from prometheus_client.parser import text_string_to_metric_families

    for family in text_string_to_metric_families(text):
        if family.type == "counter":
            yield from family.samples
