"""How a llama-server counted the tok/s that it reports: with or without the free first token, by its build."""

import re
from enum import Enum

_LAST_OF_ALL_TOKENS, _FIRST_WITHOUT_FREE = 10405, 11434  # seen in b10405 and in b11434; nobody looked between
_NUMBER = re.compile(r"b(\d{3,6})(?![0-9a-z])", re.IGNORECASE)  # b9030, b9030-267f8afe8; not the hash b192fad3


class Counting(Enum):
    """What ``predicted_per_second`` divides by the time; its value is what the history says of a rate made of it."""

    ALL = "n / T"
    WITHOUT_FREE = "(n - 1) / T"
    UNKNOWN = "the server's own: n / T or (n - 1) / T, by its build"

    @property
    def said(self) -> str:
        """What a rate is after ``time_ms``."""
        said: str = (self if self is Counting.UNKNOWN else Counting.WITHOUT_FREE).value
        return said

    def time_ms(self, predicted_n: int, per_second: float | None) -> float | None:
        """The time behind a reported rate; where the counting is unknown, one that gives that rate back unchanged."""
        counted = predicted_n if self is Counting.ALL else predicted_n - 1
        return 1000 * counted / per_second if per_second and counted > 0 else None


def counting_of(build: str) -> Counting:
    """By the number of the build, where its label begins with one."""
    found = _NUMBER.match(build)
    if found is None:
        return Counting.UNKNOWN
    number = int(found[1])
    if number <= _LAST_OF_ALL_TOKENS:
        return Counting.ALL
    return Counting.WITHOUT_FREE if number >= _FIRST_WITHOUT_FREE else Counting.UNKNOWN
