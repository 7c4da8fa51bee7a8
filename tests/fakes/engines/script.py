"""What an engine would do for a request: steps that accept drafts by a known pattern, so that every count is known."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle

WORDS = ("wind ", "über ", "the ", "\u2028", "sea, ", "🌊 ")
"""Of more than one byte, and with an end of line that is none in a stream."""
STEP_S = 0.003
"""What a step takes: tokens that all came at once would be those of a proxy that buffers."""


@dataclass(frozen=True)
class Script:
    """Drafts of ``k`` tokens, of which each step in turn accepts as many as ``accepts`` says; none where ``k`` is 0."""

    k: int = 3
    accepts: tuple[int, ...] = (3, 1, 0, 2)

    def chunks(self, tokens: int) -> Iterator[int]:
        """How many tokens come with each step: the free first one, then a token and the accepted drafts."""
        yield 1
        left = tokens - 1
        for accepted in self.steps(tokens):
            yield min(accepted + 1, left)
            left -= accepted + 1

    def steps(self, tokens: int) -> list[int]:
        """The accepted drafts of each step, those beyond the last token included."""
        left = tokens - 1
        steps: list[int] = []
        for accepted in cycle(self.accepts if self.k else (0,)):
            if left <= 0:
                return steps
            steps.append(accepted)
            left -= accepted + 1
        raise AssertionError

    def places(self, tokens: int) -> list[int]:
        """Accepted drafts by place."""
        return [sum(accepted > place for accepted in self.steps(tokens)) for place in range(self.k)]


def texts(chunks: Iterator[int], step_s: float = STEP_S) -> Iterator[tuple[str, int]]:
    """The text of each chunk, as it is made, and how many tokens there are by then."""
    there = 0
    for size in chunks:
        time.sleep(step_s)
        yield "".join(WORDS[(there + place) % len(WORDS)] for place in range(size)), there + size
        there += size


def whole_text(tokens: int) -> str:
    """All text of an answer."""
    return "".join(WORDS[place % len(WORDS)] for place in range(tokens))
