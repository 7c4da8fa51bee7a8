"""When tokens came: as an engine says how many there are by then, and whether something on the way held them back.

A proxy that buffers passes a stream on in lumps. Its last token then comes in time, and its first one late, together
with many that were made long after it, so that the time between them is as short as one likes. No engine makes so many
in such a moment: with MTP a step brings some tokens at once, and a step takes a millisecond or more.
"""

from collections.abc import Sequence

from pytest_mtp.core.timings import MOST_TOKENS
from pytest_mtp.errors import MeasureError

_MOMENT_MS = 2.0
_FEWEST, _FIRST_SHARE, _MOST_SHARE = 20, 1 / 8, 1 / 2
"""Tokens that may come in one moment whatever the answer's length, and the share of it that may: with the first token,
whose time all others are counted from, and anywhere, where it is the gaps between tokens that are wrong."""

Progress = tuple[float, int]
"""A time in ms, and how many tokens there were by then."""


def arrivals_of(progress: Sequence[Progress], tokens: int) -> tuple[float, ...]:
    """When each of ``tokens`` tokens had come; MeasureError where the first did not come alone, or counts shrink.

    A first chunk of several tokens hides when the first of them was made, and a rate over the others would be wrong.
    """
    if tokens > MOST_TOKENS:
        raise MeasureError(f"The stream says that it has {tokens} tokens, and no answer has above {MOST_TOKENS}.")
    came: list[float] = []
    for ms, there in progress:
        if there < len(came) or there > tokens:
            raise MeasureError(f"A streamed event says that there are {there} tokens, after {len(came)} of {tokens}.")
        came += [ms] * (there - len(came))
    if len(came) < tokens:
        raise MeasureError(f"The streamed events hold {len(came)} tokens, and the answer has {tokens}.")
    alone = next((there for _, there in progress if there), 1)
    if alone > 1:
        raise MeasureError(
            f"The first chunk of the stream holds {alone} tokens, so the time of the first is unknown; let the server "
            "send each step as it is made (no stream interval)."
        )
    refuse_lumps(came, tokens)
    return tuple(came)


def refuse_lumps(came: Sequence[float], tokens: int) -> None:
    """MeasureError where the arrivals of ``tokens`` tokens, or of the chunks that hold them, carry no time."""
    # The first chunk holds one token.
    each = (tokens - 1) / max(len(came) - 1, 1)
    others = [ms for ms in came[1:] if ms - came[0] <= _MOMENT_MS]
    if len(others) * each > max(_FEWEST, tokens * _FIRST_SHARE):
        raise _lumped(f"With the first token came {_about(len(others) * each)} of {tokens} within {_MOMENT_MS:g} ms")
    most = _most_in_a_moment(came) * each
    if most > max(2 * _FEWEST, tokens * _MOST_SHARE):
        raise _lumped(f"Most of the stream, {_about(most)} of {tokens} tokens, came in one lump")


def _lumped(what: str) -> MeasureError:
    return MeasureError(
        f"{what}: something on the way buffers it, so that its times are not the engine's. Ask the server directly, or "
        "let what lies between pass on each piece (nginx: proxy_buffering off)."
    )


def _about(tokens: float) -> str:
    return f"about {tokens:.0f}"


def _most_in_a_moment(came: Sequence[float]) -> int:
    most = begin = 0
    for end, ms in enumerate(came):
        while ms - came[begin] > _MOMENT_MS:
            begin += 1
        most = max(most, end + 1 - begin)
    return most
