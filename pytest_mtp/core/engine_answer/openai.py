"""The streamed ``/v1/completions`` of OpenAI-compatible servers, vLLM among them."""

from collections.abc import Mapping, Sequence

from pytest_mtp.core.engine_answer.arriving import arrivals_of, refuse_lumps
from pytest_mtp.core.engine_answer.protocol import Clock, Event, Stream, Told, stop_type
from pytest_mtp.core.engine_answer.reading import broken, checked, count, first_choice, table
from pytest_mtp.errors import MeasureError

_NO_USAGE = (
    "The last event of the stream has no usage, so it is not known how many tokens came (a chunk may hold several): "
    "use a server that takes stream_options.include_usage."
)


def read_openai(stream: Stream) -> Told:
    """Read the events of a completion; MeasureError where it broke or has no usage.

    Where every chunk has usage (vLLM: ``continuous_usage_stats``) each token has its time; else the first chunk with
    text is taken to be the first token alone.
    """
    events = checked(stream)
    chunks = [(ms, doc, choice) for ms, doc in events if (choice := first_choice(doc)) is not None]
    stop = next((choice["finish_reason"] for *_, choice in chunks if choice.get("finish_reason")), None)
    if not stream.whole or stop is None or not chunks:
        raise broken(events)
    usage = _usage(events)
    tokens = count(usage, "completion_tokens", "usage")
    arrivals = _arrivals(chunks, tokens)
    first, last = _span(chunks, tokens) if arrivals is None else (arrivals[0], arrivals[-1])
    return Told(
        text="".join(str(choice.get("text") or "") for *_, choice in chunks),
        tokens=tokens,
        prompt_tokens=count(usage, "prompt_tokens", "usage"),
        cached_tokens=_cached(usage),
        first_token_ms=first,
        prompt_ms=first,
        decode_ms=last - first,
        clock=Clock.CLIENT,
        wall_ms=stream.wall_ms,
        stop_type=stop_type(stop),
        arrivals_ms=arrivals,
    )


Chunk = tuple[float, Mapping[str, object], Mapping[str, object]]
"""When it came, the whole of it, and its choice."""


def _usage(events: Sequence[Event]) -> Mapping[str, object]:
    usage = next((found for _, doc in reversed(events) if (found := table(doc, "usage"))), None)
    if usage is None:
        raise MeasureError(_NO_USAGE)
    return usage


def _cached(usage: Mapping[str, object]) -> int | None:
    details = table(usage, "prompt_tokens_details")
    return None if details.get("cached_tokens") is None else count(details, "cached_tokens", "usage")


def _arrivals(chunks: Sequence[Chunk], tokens: int) -> tuple[float, ...] | None:
    """By the usage of each chunk; ``None`` where one has none, or there is no token at all."""
    if tokens == 0 or not all(table(doc, "usage") for _, doc, _ in chunks):
        return None
    return arrivals_of(
        [(ms, count(table(doc, "usage"), "completion_tokens", "usage")) for ms, doc, _ in chunks], tokens
    )


def _span(chunks: Sequence[Chunk], tokens: int) -> tuple[float, float]:
    """When the first text came, and when the last; an end without a text of its own comes with the last token."""
    texts = [ms for ms, _, choice in chunks if choice.get("text")] or [chunks[-1][0]]
    refuse_lumps(texts, tokens)
    ends = [ms for ms, _, choice in chunks if choice.get("finish_reason")]
    return texts[0], max(texts[-1], *ends)
