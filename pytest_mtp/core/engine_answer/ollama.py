"""Ollama's ``/api/generate``: lines of JSON, the last with counts and times by the server's clock."""

from collections.abc import Mapping

from pytest_mtp.core.engine_answer.protocol import Clock, Stream, Told, stop_type
from pytest_mtp.core.engine_answer.reading import broken, checked, count, milliseconds_of

_OF = "Ollama's last line"


def read_ollama(stream: Stream) -> Told:
    """Read the lines of a completion; MeasureError where it broke.

    Ollama leaves out what is 0, such as the tokens of a prompt that it had in its cache; its ``eval_duration`` begins
    with the first token, as llama-server's ``predicted_ms`` does.
    """
    events = checked(stream)
    last = events[-1][1] if events else {}
    if not stream.whole or last.get("done") is not True:
        raise broken(events)
    return Told(
        text="".join(str(doc.get("response") or "") for _, doc in events),
        tokens=count(last, "eval_count", _OF, absent=0),
        prompt_tokens=count(last, "prompt_eval_count", _OF, absent=0),
        cached_tokens=None,
        first_token_ms=next((ms for ms, doc in events if doc.get("response")), None),
        prompt_ms=milliseconds_of(last, "prompt_eval_duration", _OF, absent=0),
        decode_ms=milliseconds_of(last, "eval_duration", _OF, absent=0),
        clock=Clock.SERVER,
        wall_ms=stream.wall_ms,
        stop_type=stop_type(last.get("done_reason", "")),
    )


def ollama_models(doc: Mapping[str, object]) -> tuple[str, ...]:
    """The names in ``/api/tags``."""
    models = doc.get("models")
    listed = models if isinstance(models, list) else []
    return tuple(str(one["name"]) for one in listed if isinstance(one, Mapping) and "name" in one)
