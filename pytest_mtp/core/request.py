"""What a server is asked, and what came back."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeGuard

from pytest_mtp.core.timings import MOST_TOKENS, Timings, parse_timings
from pytest_mtp.errors import MeasureError, SettingsError

_SHOWN = 200


class RequestEndpoint(Enum):
    """Which way into the server a prompt takes."""

    RAW = "raw"
    """The text goes on as it stands."""
    CHAT = "chat"
    """The text is a user's message, in the chat template of the model."""


@dataclass(frozen=True, slots=True)
class Chat:
    """A request to the chat endpoint."""

    thinking: bool
    """What the model's template is told as ``enable_thinking``; templates differ in what they take for granted."""


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
    chat: Chat | None = None
    """``None``: the raw endpoint."""

    def __post_init__(self) -> None:
        if self.chat is not None and not isinstance(self.prompt, str):
            raise SettingsError(
                'A prompt of a given length is made of tokens, a chat message of text: set request.endpoint to "raw".'
            )

    @property
    def path(self) -> str:
        """Where a llama-server is asked this."""
        return "/completion" if self.chat is None else "/v1/chat/completions"

    def as_json(self) -> dict[str, object]:
        """Return the body that is posted to ``path``."""
        body: dict[str, object] = {
            **(self._raw() if self.chat is None else self._message(self.chat)),
            "seed": self.seed,
            # Raw completion of a chat model may stop after 22 tokens: too few for a rate.
            "ignore_eos": True,
            # A cached prompt makes the second request fast for a reason that is not under test.
            "cache_prompt": False,
            "stream": self.stream,
        }
        return body if self.temperature is None else {**body, "temperature": self.temperature}

    def _raw(self) -> dict[str, object]:
        return {"prompt": self.prompt, "n_predict": self.n_predict}

    def _message(self, chat: Chat) -> dict[str, object]:
        # A chunk of the chat endpoint does not say by itself how many tokens there are by then.
        counted = {"timings_per_token": True, "stream_options": {"include_usage": True}} if self.stream else {}
        return {
            "messages": [{"role": "user", "content": self.prompt}],
            "max_tokens": self.n_predict,
            "chat_template_kwargs": {"enable_thinking": chat.thinking},
            **counted,
        }


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
        fields = ", ".join(sorted(doc))[:_SHOWN] or "none"
        raise MeasureError(f"The answer has no timings, so it cannot be a measurement (its fields: {fields}).")
    if not _is_text(text) or not _is_text(stop_type):
        raise MeasureError("The answer's content or stop_type is no text; this is not llama-server's /completion.")
    if not math.isfinite(wall_ms) or wall_ms < 0:
        raise MeasureError(f"The answer took {wall_ms} ms by the client's clock; that clock cannot be used.")
    return Answer(text, parse_timings(timings), stop_type[:_SHOWN], wall_ms)


def _is_text(value: object) -> TypeGuard[str]:
    """Whether it can be written down: half a pair of surrogates cannot."""
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)


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
        if not isinstance(told, int) or not len(arrivals) <= told <= MOST_TOKENS:
            raise MeasureError(f"A streamed event says tokens_predicted {told!r:.60} after {len(arrivals)} tokens.")
        arrivals += [came_ms] * (told - len(arrivals))
    text = "".join(str(event.get("content", "")) for _, event in events)
    whole = parse_answer({**last, "content": text}, wall_ms)
    if whole.timings.predicted_n > MOST_TOKENS:
        raise MeasureError(f"The stream says at its end that it had {whole.timings.predicted_n} tokens.")
    # The last tokens may come with the end alone.
    arrivals += [events[-1][0]] * (whole.timings.predicted_n - len(arrivals))
    return replace(whole, arrivals_ms=tuple(arrivals))
