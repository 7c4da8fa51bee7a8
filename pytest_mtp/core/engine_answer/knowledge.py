"""What can be known of a server by asking it, said in sentences."""

from dataclasses import dataclass
from enum import Enum

from pytest_mtp.core.endpoint import Engine
from pytest_mtp.core.engine_answer.protocol import Clock


class DraftSource(Enum):
    """Where the counts of drafts come from."""

    PER_REQUEST = "every answer tells its own"
    COUNTERS = "counters of the whole server, read before and after"
    NOT_TOLD = "they are not told"


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What one server tells, and what it does not."""

    engine: Engine
    clock: Clock
    drafts: DraftSource
    per_position: bool | None
    """Whether accepted drafts are counted by their place in the draft; ``None`` shows with the first answer."""
    speculation_proof: bool
    """Whether it says by itself that it speculates, or that it does not."""
    ignores_eos: bool
    """Whether it goes on to the last token asked for."""
    cache_off: bool
    """Whether a request can be kept from a prompt that was computed for an earlier one."""
    counts_tokens: bool
    """Whether it tells the tokens of a text, so that a prompt can be given a length."""

    def sentences(self) -> tuple[str, ...]:
        """For the docs and the report: what is known, and what follows from what is not."""
        uncounted = "Accepted drafts are not counted by their place in the draft."
        return (*self.beside_drafts(), _drafts(self), *([uncounted] if self.per_position is False else []))

    def beside_drafts(self) -> tuple[str, ...]:
        """Those of a server that is not to draft."""
        lacks = (
            None if self.speculation_proof else "It does not say whether it speculates, so the arms are not proven.",
            None if self.ignores_eos else "It may end before the last token asked for, and such an answer is refused.",
            None
            if self.cache_off
            else "Its cache of prompts cannot be switched off for a request: prompt speed is not comparable.",
            None if self.counts_tokens else "It does not tell the tokens of a text: prompts keep their own length.",
        )
        return (_clock(self), *(one for one in lacks if one is not None))


def _clock(knowledge: Knowledge) -> str:
    if knowledge.clock is Clock.SERVER:
        return f"Times of {knowledge.engine.label} are by the server's own clock."
    return (
        f"Times of {knowledge.engine.label} are by the client's clock, from the arrival of the first token to that of "
        "the last, with the connection in them."
    )


def _drafts(knowledge: Knowledge) -> str:
    if knowledge.drafts is DraftSource.NOT_TOLD:
        return "Drafts are not told: tau and step cost are unknown, and that nothing was drafted cannot be seen."
    if knowledge.drafts is DraftSource.COUNTERS:
        return (
            "Drafts are the difference of the server's counters before and after a request, so they are known of "
            "requests asked alone, and only where nobody else uses the server."
        )
    return "Drafts are told with every answer."
