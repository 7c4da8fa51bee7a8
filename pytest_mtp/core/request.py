"""What a server is asked, and what came back."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_mtp.core.timings import Timings, parse_timings
from pytest_mtp.errors import MeasureError


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One completion, made repeatable: greedy, seeded, to the last token, without cache."""

    prompt: str | tuple[str | int, ...]
    """A text, or texts and ids of tokens in turn."""
    n_predict: int
    seed: int = 42
    timeout_s: float = 300.0
    temperature: float | None = 0.0
    """``None`` leaves the server's default (its ``--temp``), for a sampled run."""
    stream: bool = False
    """Whether tokens come as they are made. A streamed chunk may hold several, and chunks cost time."""

    def as_json(self) -> dict[str, object]:
        """Return the body of ``POST /completion``."""
        body: dict[str, object] = {
            "prompt": self.prompt,
            "n_predict": self.n_predict,
            "seed": self.seed,
            # Raw completion of a chat model may stop after 22 tokens: too few for a rate.
            "ignore_eos": True,
            # A cached prompt makes the second request fast for a reason that is not under test.
            "cache_prompt": False,
            "stream": self.stream,
        }
        return body if self.temperature is None else {**body, "temperature": self.temperature}


@dataclass(frozen=True, slots=True)
class Answer:
    """One completion as it came back."""

    text: str
    timings: Timings
    stop_type: str
    """``limit``, ``eos`` or ``word``; empty where a build does not say."""
    wall_ms: float
    """As the client saw it: prompt, generation and connection."""
    arrivals_ms: tuple[float, ...] | None = None
    """When each token had come, since the request was sent; ``None`` where they were not streamed."""


def parse_answer(doc: Mapping[str, object], wall_ms: float) -> Answer:
    """Read the answer of ``/completion``; ``MeasureError`` says what it lacks."""
    timings, text, stop_type = doc.get("timings"), doc.get("content"), doc.get("stop_type", "")
    if not isinstance(timings, Mapping):
        fields = ", ".join(sorted(doc)) or "none"
        raise MeasureError(f"The answer has no timings, so it cannot be a measurement (its fields: {fields}).")
    if not isinstance(text, str) or not isinstance(stop_type, str):
        raise MeasureError("The answer's content or stop_type is no text; this is not llama-server's /completion.")
    if not math.isfinite(wall_ms) or wall_ms < 0:
        raise MeasureError(f"The answer took {wall_ms} ms by the client's clock; that clock cannot be used.")
    return Answer(text, parse_timings(timings), stop_type, wall_ms)


def parse_stream(events: Sequence[tuple[float, Mapping[str, object]]], wall_ms: float) -> Answer:
    """Read a streamed answer from its events and when each came, in ms; ``MeasureError`` says what is wrong.

    An event says how many tokens there are by then, so that a chunk of several counts as several.
    """
    if not events or not events[-1][1].get("stop"):
        raise MeasureError(f"The stream broke after {len(events)} events, before its last one.")
    *chunks, (_, last) = events
    arrivals: list[float] = []
    for came_ms, event in chunks:
        told = event.get("tokens_predicted")
        if not isinstance(told, int) or told < len(arrivals):
            raise MeasureError(f"A streamed event says tokens_predicted {told!r} after {len(arrivals)} tokens.")
        arrivals += [came_ms] * (told - len(arrivals))
    text = "".join(str(event.get("content", "")) for _, event in events)
    whole = parse_answer({**last, "content": text}, wall_ms)
    # The last tokens may come with the end alone.
    arrivals += [events[-1][0]] * (whole.timings.predicted_n - len(arrivals))
    return replace(whole, arrivals_ms=tuple(arrivals))
