"""Lines, events and fields out of what came over a connection."""

import json
import sys
from collections.abc import Mapping, Sequence

from pytest_mtp.core.engine_answer.protocol import Event, Stream
from pytest_mtp.errors import MeasureError

_DATA = b"data:"
_DONE = b"[DONE]"
_SHOWN = 200
_MOST = 2**31 - 1
"""Of anything that an engine counts in one answer, and that is kept one by one."""

Line = tuple[float, bytes]
"""When it had come, and its bytes without the end."""


def split_lines(rest: bytes, piece: bytes) -> tuple[list[bytes], bytes]:
    """The lines that a further piece completes, and the bytes of the next one.

    Bytes, not text: a piece may be cut within a character, and text has more ends of line than a newline.
    """
    *lines, rest = (rest + piece).split(b"\n")
    return [line.rstrip(b"\r") for line in lines], rest


def server_sent_events(lines: Sequence[Line], rest: bytes, wall_ms: float) -> Stream:
    """Read a stream of ``data:`` lines, whose end mark is ``[DONE]``."""
    data = [(ms, line.removeprefix(_DATA).strip()) for ms, line in lines if line.startswith(_DATA)]
    done = next((place for place, (_, one) in enumerate(data) if one == _DONE), None)
    events = tuple((ms, _document(one)) for ms, one in data[:done])
    return Stream(events, whole=done is not None, wall_ms=wall_ms)


def json_lines(lines: Sequence[Line], rest: bytes, wall_ms: float) -> Stream:
    """Read a stream with a JSON document on every line."""
    events = tuple((ms, _document(line)) for ms, line in lines if line.strip())
    return Stream(events, whole=not rest.strip(), wall_ms=wall_ms)


def error_of(doc: Mapping[str, object]) -> str | None:
    """An engine's own words for what went wrong; ``None`` where nothing did."""
    error = doc.get("error")
    if isinstance(error, Mapping):
        error = error.get("message", error)
    if error is None and doc.get("object") == "error":
        error = doc.get("message")
    return None if error is None else str(error)[:_SHOWN]


def checked(stream: Stream) -> tuple[Event, ...]:
    """The events of a stream in which no error was told; MeasureError for one."""
    for _, doc in stream.events:
        if (error := error_of(doc)) is not None:
            raise MeasureError(f"The stream ended with an error of the server: {error}.")
    return stream.events


def broken(events: Sequence[Event]) -> MeasureError:
    """The error of a stream that ended too early."""
    return MeasureError(f"The stream broke after {len(events)} events, before its last one.")


def count(doc: Mapping[str, object], field: str, of: str, absent: int | None = None) -> int:
    """A field that counts; ``absent`` is what a missing one means, ``None``: it may not be missing."""
    value = doc.get(field, absent)
    # A comparison is false of NaN, so that only numbers that can be whole are turned into one.
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= _MOST or value != int(value):
        raise MeasureError(f"{of} says {field} {shown(value)}; it must be a whole number from 0 to {_MOST}.")
    return int(value)


def milliseconds_of(doc: Mapping[str, object], field: str, of: str, absent: float | None = None) -> float:
    """A field in nanoseconds, as milliseconds."""
    value = doc.get(field, absent)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= sys.float_info.max:
        raise MeasureError(f"{of} says {field} {shown(value)}; it must be nanoseconds of 0 or more.")
    return value / 1e6


def table(doc: Mapping[str, object], field: str) -> Mapping[str, object]:
    """A field that is a table; empty where it is none."""
    value = doc.get(field)
    return value if isinstance(value, Mapping) else {}


def first_choice(doc: Mapping[str, object]) -> Mapping[str, object] | None:
    """The first of the choices that OpenAI's API answers with; ``None`` where there is none."""
    choices = doc.get("choices")
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else None


def shown(value: object) -> str:
    """A value of an answer as Python writes it; of a table or list its kind, of a long one the beginning."""
    if value is None or isinstance(value, str | float):
        return f"{value!r:.60}"
    # Python writes no number of more than some thousand digits.
    return str(value) if isinstance(value, int) and abs(value) < 1 << 64 else f"a {type(value).__name__}"


def _document(text: bytes) -> Mapping[str, object]:
    start = text[:_SHOWN].decode(errors="replace")
    try:
        doc = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MeasureError(f"An event of the stream is no JSON: {start!r}.") from error
    if not isinstance(doc, dict):
        raise MeasureError(f"An event of the stream is no table: {start!r}.")
    return doc
