"""Whether an answer may count as a measurement: what must hold of it, else its block is INVALID."""

from pytest_mtp.core.request import Answer
from pytest_mtp.core.server_spec import Arm

_LEAST_MS_PER_TOKEN = 1e-6
"""No machine makes a token in a nanosecond; a rate of almost no time would be infinite."""


def complaint(answer: Answer, tokens: int, arm: Arm) -> str | None:
    """Say which precondition an answer to a request for ``tokens`` breaks; ``None``: none."""
    timings = answer.timings
    if timings.predicted_n != tokens:
        return f"{timings.predicted_n} tokens came, {tokens} were asked for ({answer.stop_type})"
    # Both raise where they have no meaning.
    too_short = timings.ms_per_token < _LEAST_MS_PER_TOKEN
    if too_short or (timings.told and timings.steps < 1):
        return f"{timings.predicted_ms} ms for {timings.predicted_n} tokens is no measurement"
    if timings.cache_n:
        return f"{timings.cache_n} prompt tokens came from a cache although it is off"
    if arm is Arm.PLAIN and timings.draft_n:
        return f"the plain arm drafted {timings.draft_n} tokens, so it is not plain"
    if answer.wall_ms < timings.predicted_ms:
        return f"the server claims {timings.predicted_ms:.0f} ms, {answer.wall_ms:.0f} ms passed"
    return None


def counted(before: tuple[int, ...] | None, after: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Counts of one request from cumulative counters; the family appears with the first draft."""
    if after is None:
        return None
    earlier = before or ()
    return tuple(count - (earlier[place] if place < len(earlier) else 0) for place, count in enumerate(after))
