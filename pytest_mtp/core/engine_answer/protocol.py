"""What every engine's answer is read into."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from pytest_mtp.core.engine_answer.drafts import Drafts
from pytest_mtp.core.request import Answer
from pytest_mtp.core.timings import Timings

Event = tuple[float, Mapping[str, object]]
"""When it had come, in ms since the request was sent, and what it says."""

_STOPS = {"length": "limit", "stop": "eos"}


def stop_type(reason: object) -> str:
    """Why an answer ended, in llama-server's words; the engine's own word where they have none."""
    return _STOPS.get(str(reason), str(reason))


class Clock(Enum):
    """Whose clock a time was read from."""

    SERVER = "the server"
    CLIENT = "the client"


@dataclass(frozen=True, slots=True)
class Stream:
    """A streamed answer as it came."""

    events: tuple[Event, ...]
    whole: bool
    """Whether its last line came to an end, and where the format has an end mark, that too."""
    wall_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One completion, with what the engine told of it; ``None`` is what it did not tell."""

    text: str
    tokens: int
    """As the engine counts them; chunks are never counted, one may hold several tokens."""
    prompt_tokens: int
    """All of the prompt, those from a cache included."""
    cached_tokens: int | None
    first_token_ms: float | None
    """From sending the request to the first token, by the client's clock; ``None`` where it was not streamed."""
    prompt_ms: float
    decode_ms: float
    """From the first token to the last."""
    clock: Clock
    """Of ``prompt_ms`` and ``decode_ms``. The client's holds the connection and the queue too."""
    wall_ms: float
    stop_type: str
    """``limit``, ``eos`` or ``word``, as llama-server says it; the engine's own word for anything else."""
    drafts: Drafts | None = None
    arrivals_ms: tuple[float, ...] | None = None
    """When each token had come; ``None`` where the engine does not say how many tokens a chunk holds."""

    @property
    def tau(self) -> float | None:
        """Tokens per step, (n-1)/steps: the first token comes from the prompt; ``None`` where steps are not told."""
        return None if self.drafts is None or self.drafts.steps < 1 else (self.tokens - 1) / self.drafts.steps

    def answer(self) -> Answer:
        """The same as a measured answer."""
        cached = self.cached_tokens or 0
        timings = Timings(
            prompt_n=max(self.prompt_tokens - cached, 0),
            prompt_ms=self.prompt_ms,
            predicted_n=self.tokens,
            predicted_ms=self.decode_ms,
            cache_n=cached,
            draft_n=None if self.drafts is None else self.drafts.drafted,
            draft_n_accepted=0 if self.drafts is None else self.drafts.accepted,
        )
        return Answer(self.text, timings, self.stop_type, self.wall_ms, self.arrivals_ms)
