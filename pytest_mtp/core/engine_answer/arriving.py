"""When tokens came, where an engine says how many there are by then."""

from collections.abc import Sequence

from pytest_mtp.errors import MeasureError

Progress = tuple[float, int]
"""A time in ms, and how many tokens there were by then."""


def arrivals_of(progress: Sequence[Progress], tokens: int) -> tuple[float, ...]:
    """When each of ``tokens`` tokens had come; MeasureError where the first did not come alone, or counts shrink.

    A first chunk of several tokens hides when the first of them was made, and a rate over the others would be wrong.
    """
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
    return tuple(came)
