"""What an engine that tells neither tokens nor drafts answers to the rest of the protocol."""

from pytest_mtp.core.endpoint import Engine
from pytest_mtp.core.engine_answer.knowledge import DraftSource, Knowledge
from pytest_mtp.core.engine_answer.protocol import Clock
from pytest_mtp.errors import MeasureError


def untold(engine: Engine, clock: Clock) -> Knowledge:
    """That such an engine tells times, and nothing else that is asked for."""
    return Knowledge(
        engine=engine,
        clock=clock,
        drafts=DraftSource.NOT_TOLD,
        per_position=False,
        speculation_proof=False,
        ignores_eos=False,
        cache_off=False,
        counts_tokens=False,
    )


class Untold:
    """The part of an adapter that is the same for all of them."""

    name: str
    """The engine at the beginning of a sentence."""

    def no_ids(self) -> MeasureError:
        """The error of a prompt that is to have a length."""
        return MeasureError(
            f"{self.name} does not tell the tokens of a text, so no prompt can be given a length; leave length out of "
            "the prompt classes."
        )

    def speculative(self) -> bool | None:
        """Not told."""
        return None

    def tokens(self, text: str) -> list[int]:
        """Not told: MeasureError."""
        raise self.no_ids()

    def accepted_per_position(self) -> tuple[int, ...] | None:
        """Not told."""
        return None

    def close(self) -> None:
        """Nothing is held."""
