"""How many steps made an answer: the counts of every engine, brought to one definition.

tau = (n - 1) / steps, for n tokens of which the first comes from the prompt, and steps of verifying. The engines count
by three definitions:

- llama-server counts the accepted drafts that became tokens: steps = n - 1 - accepted.
- vLLM counts steps that verified a draft (drafts), and calls 1 + accepted / drafts the acceptance length. Its last
  step may accept drafts beyond the last token asked for, which it counts and nobody gets; a step without a draft is
  no draft. So steps is the greater of drafts and n - 1 - accepted.
- SGLang counts steps (spec_verify_ct), and calls n / steps the accept length, the free first token included.
"""

from dataclasses import dataclass

from pytest_mtp.errors import MeasureError

OTHERS = (
    "so another client's requests are in the counts. Keep others away from the server while it is measured, "
    "or start one of its own."
)
"""What follows where counts of a server cannot be those of one answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafts:
    """What was drafted for one answer."""

    steps: int
    """Steps of decoding after the free first token."""
    drafted: int
    accepted: int
    """Those that became tokens of the answer: n - 1 - steps."""
    per_position: tuple[int, ...] | None = None
    """Accepted drafts by place in the draft, as the engine counts; ``None`` where it does not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What an engine counted of one answer."""

    steps: int
    """Steps that verified a draft."""
    drafted: int
    accepted: int | None = None
    """With or without those beyond the last token; ``None`` where it is not told."""
    per_position: tuple[int, ...] | None = None
    n_max: int | None = None
    """Most drafts of one step; ``None`` where it is not told."""


def no_drafts(tokens: int) -> Drafts:
    """What a server that does not speculate drafted: a step for every token."""
    return Drafts(steps=max(tokens - 1, 0), drafted=0, accepted=0)


def drafts_of(tokens: int, counted: Verified) -> Drafts:
    """What was drafted for ``tokens`` tokens; MeasureError where the counts cannot be of this answer alone."""
    generated = max(tokens - 1, 0)
    if counted.steps > generated:
        raise MeasureError(
            f"{counted.steps} steps of verifying were counted for {tokens} tokens, and each makes one at least, "
            f"{OTHERS}"
        )
    accepted = generated - counted.steps if counted.accepted is None else counted.accepted
    if accepted > counted.drafted:
        raise MeasureError(f"{accepted} accepted drafts were counted of {counted.drafted} that were drafted.")
    steps = max(counted.steps, generated - accepted)
    beyond = accepted - (generated - steps)
    if counted.n_max is not None and beyond > counted.n_max:
        raise MeasureError(
            f"{accepted} accepted drafts and {counted.steps} steps were counted for {tokens} tokens, {beyond} too many "
            f"for the one step at the end, which takes {counted.n_max} at most, {OTHERS}"
        )
    return Drafts(steps=steps, drafted=counted.drafted, accepted=generated - steps, per_position=counted.per_position)
