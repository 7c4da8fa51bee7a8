"""The answers of ``/v1/chat/completions`` in the form of ``/completion``'s, so that both are read by one reader.

The server takes what a model thought out of what it said; both were made one token after the other, so the text is
the thoughts and then the words. The marks between them are lost.
"""

from collections.abc import Iterator, Mapping, Sequence

from pytest_mtp.core.engine_answer.protocol import Event, stop_type
from pytest_mtp.core.engine_answer.reading import first_choice
from pytest_mtp.errors import MeasureError


def as_completion(doc: Mapping[str, object]) -> dict[str, object]:
    """A whole answer; MeasureError where it is none of the chat endpoint."""
    choice = first_choice(doc)
    message = None if choice is None else choice.get("message")
    if choice is None or not isinstance(message, Mapping):
        fields = ", ".join(sorted(doc))[:200] or "none"
        raise MeasureError(f"The answer has no choice with a message, so it is no chat answer (its fields: {fields}).")
    return {**_timed(doc), "content": _text(message), "stop_type": _stop(choice)}


def as_events(events: Sequence[Event]) -> tuple[Event, ...]:
    """A streamed answer; one that broke lacks the event that says ``stop``."""
    return tuple(_events(events))


def _events(events: Sequence[Event]) -> Iterator[Event]:
    tokens, stop = 0, ""
    for place, (came_ms, doc) in enumerate(events, 1):
        choice, timings = first_choice(doc) or {}, doc.get("timings")
        if isinstance(timings, Mapping):
            # As it was said: the reader refuses what is no count.
            tokens = timings.get("predicted_n", tokens)
        stop = _stop(choice) or stop
        delta = choice.get("delta")
        said: dict[str, object] = {"content": _text(delta if isinstance(delta, Mapping) else {})}
        if place == len(events) and stop:
            yield came_ms, {**said, **_timed(doc), "stop": True, "stop_type": stop}
        else:
            yield came_ms, {**said, "tokens_predicted": tokens}


def _timed(doc: Mapping[str, object]) -> dict[str, object]:
    return {"timings": doc["timings"]} if "timings" in doc else {}


def _text(message: Mapping[str, object]) -> str:
    """What is not said is left out, or null."""
    return "".join(str(message.get(part) or "") for part in ("reasoning_content", "content"))


def _stop(choice: Mapping[str, object]) -> str:
    reason = choice.get("finish_reason")
    return stop_type(reason) if reason else ""
