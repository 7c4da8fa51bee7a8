"""What one answer cost, from the server's own clock, and the rates that follow from it.

Rates are computed here with one formula: the first token is free (it is
sampled from the prompt), so ``n`` tokens are ``n - 1`` generated ones.
The server's ``predicted_per_second`` is never read: between builds it
changed from ``n`` to ``n - 1`` tokens.
"""

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from pytest_mtp.errors import MeasureError

MOST_TOKENS = 2**24
"""Of one answer; the arrival of each may be kept."""
_FEWEST_FOR_A_RATE = 2
# Of the servers' own type; beyond it arithmetic with floats may fail.
_MOST = 2**31 - 1
_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """The raw counts and times of one answer; a rate without a meaning raises ``MeasureError``."""

    prompt_n: int
    """Prompt tokens that were computed; cached ones are in ``cache_n``."""
    prompt_ms: float
    predicted_n: int
    predicted_ms: float
    cache_n: int = 0
    draft_n: int | None = 0
    """Drafted tokens; a llama-server that drafted nothing leaves the field out, so absent is 0. ``None``: not told."""
    draft_n_accepted: int = 0
    """Without a meaning where drafts are not told."""

    def __post_init__(self) -> None:
        if self.draft_n is not None and self.draft_n_accepted > self.draft_n:
            raise MeasureError(f"timings.draft_n_accepted is {self.draft_n_accepted}, above draft_n {self.draft_n}.")

    @property
    def told(self) -> bool:
        """Whether the engine says what it drafted; without it there is no step and no tau."""
        return self.draft_n is not None

    @property
    def drafted(self) -> bool:
        """Whether anything is known to have been drafted."""
        return bool(self.draft_n)

    @property
    def steps(self) -> int:
        """Decoding steps after the free first token: every token that was not an accepted draft took one."""
        if not self.told:
            raise MeasureError("The engine does not tell its drafts, so the steps of an answer cannot be counted.")
        steps = self._generated - self.draft_n_accepted
        if steps < 1:
            raise MeasureError(
                f"{self.predicted_n} tokens with {self.draft_n_accepted} accepted drafts leave no step of decoding."
            )
        return steps

    @property
    def tau(self) -> float:
        """Tokens per step; 1 without accepted drafts."""
        return self._generated / self.steps

    @property
    def tps(self) -> float:
        """Tokens per second, the free first token left out."""
        return 1000 * self._generated / self._positive("predicted_ms")

    @property
    def ms_per_token(self) -> float:
        """Milliseconds per token, the free first token left out."""
        return self._positive("predicted_ms") / self._generated

    @property
    def prompt_tps(self) -> float:
        """Prompt tokens per second, over those that were computed."""
        return 1000 * self.prompt_n / self._positive("prompt_ms")

    def as_json(self) -> dict[str, int | float | None]:
        """Return the raw values by the server's names; rates are never stored."""
        return asdict(self)

    @property
    def _generated(self) -> int:
        if self.predicted_n < _FEWEST_FOR_A_RATE:
            raise MeasureError(
                f"The answer has {self.predicted_n} tokens; the first is free, so a rate needs at least "
                f"{_FEWEST_FOR_A_RATE}. Ask for more tokens."
            )
        return self.predicted_n - 1

    def _positive(self, field: str) -> float:
        value: float = getattr(self, field)
        if value <= 0:
            raise MeasureError(f"timings.{field} is {value}; no rate can be computed from it.")
        return value


def parse_timings(doc: Mapping[str, object]) -> Timings:
    """Read the ``timings`` object of an answer; ``MeasureError`` names the field that is wrong."""
    return Timings(
        prompt_n=_count(doc, "prompt_n"),
        prompt_ms=_milliseconds(doc, "prompt_ms"),
        predicted_n=_count(doc, "predicted_n"),
        predicted_ms=_milliseconds(doc, "predicted_ms"),
        cache_n=_count(doc, "cache_n", absent=0),
        draft_n=_count(doc, "draft_n", absent=0),
        draft_n_accepted=_count(doc, "draft_n_accepted", absent=0),
    )


def _count(doc: Mapping[str, object], field: str, absent: int | None = None) -> int:
    value = doc.get(field, absent)
    # bool is an int to isinstance, and no count.
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST:
        raise MeasureError(_complaint(field, f"a whole number from 0 to {_MOST}", field in doc, value))
    return value


def _milliseconds(doc: Mapping[str, object], field: str) -> float:
    value = doc.get(field)
    # A comparison is false of NaN, and of whole numbers too large for a float it is true or false all the same.
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= sys.float_info.max:
        raise MeasureError(_complaint(field, "a finite number of 0 or more", field in doc, value))
    return float(value)


def _complaint(field: str, wanted: str, present: bool, value: object) -> str:  # noqa: FBT001 - private
    shown = f"{value!r:.{_SHOWN}}" if value is None or isinstance(value, str | int | float) else type(value).__name__
    said = f"is {shown}" if present else "is missing"
    return f"timings.{field} of the answer {said}; it must be {wanted}."
