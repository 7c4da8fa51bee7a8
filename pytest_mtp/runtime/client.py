"""How a running server is asked.

Nothing is retried: a measured request that was repeated is another measurement. Nothing is believed either: whatever
a broken server sends ends in time, in bounded memory, as an answer or as an error of ours.
"""

import json
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pytest_mtp.core.chat_answer import as_completion, as_events
from pytest_mtp.core.engine_answer.reading import split_lines
from pytest_mtp.core.request import Answer, Request, parse_answer, parse_stream
from pytest_mtp.errors import MeasureError, ServerLate

if TYPE_CHECKING:
    import httpx

__all__ = ["Answer", "Client", "Request"]

Shape = TypeVar("Shape")

_CONNECT_S = 5.0
_STATUS_S = 10.0
_HEALTH_S = 2.0
_OK = 200
_SHOWN = 200
_MOST_BYTES = 64 * 2**20
"""Of one answer: that of the longest stream of a context of a million tokens stays below."""
_EVENT = b"data: "
_DONE = b"data: [DONE]"
_PAGE_TYPE = "text/html"
_PER_POSITION = "llamacpp:spec_decode_num_accepted_tokens_per_pos_total"


class Client:
    """A connection to one server, closed with the ``with`` block; errors are MeasureError and ServerLate."""

    def __init__(self, base_url: str, api_key: str | None = None, socket: str | None = None) -> None:
        """``socket`` is the path of a UNIX socket, where the server has no network."""
        import httpx

        from pytest_mtp.runtime.punctual import PunctualTransport

        # What is compressed comes in lumps, and may be small on the way and large here.
        headers = {"Accept-Encoding": "identity"} | ({} if api_key is None else {"Authorization": f"Bearer {api_key}"})
        # A proxy of the environment has no business between two processes of one machine.
        way = PunctualTransport(socket)
        self._http = httpx.Client(base_url=base_url, headers=headers, trust_env=False, transport=way)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Drop the connection; a server with an open one may not end when asked to."""
        self._http.close()

    def health(self) -> bool:
        """Whether the server is ready; ``False`` while nothing listens and while the model loads."""
        try:
            self._send("GET", "/health", _HEALTH_S)
        except (MeasureError, ServerLate):
            return False
        return True

    def props(self) -> dict[str, Any]:
        """``/props``: model path, slots and build, as the server sees them."""
        return _expect(self._json("GET", "/props"), dict, "/props")

    def slots(self) -> list[dict[str, Any]]:
        """``/slots``: one entry per slot, each with ``speculative``."""
        return [_expect(one, dict, "/slots") for one in _expect(self._json("GET", "/slots"), list, "/slots")]

    def page(self) -> bool:
        """Whether a browser would be shown a web page at the root."""
        try:
            with self._open("GET", "/", _STATUS_S, None) as response:
                return _PAGE_TYPE in response.headers.get("content-type", "")
        except MeasureError:
            return False

    def complete(self, request: Request) -> Answer:
        """Ask for one completion and wait for all of it."""
        if request.stream:
            return self._streamed(request)
        begin = time.perf_counter()
        body = self._send("POST", request.path, request.timeout_s, request.as_json())
        wall_ms = 1000 * (time.perf_counter() - begin)
        doc = _expect(_decode(body, request.path), dict, request.path)
        return parse_answer(doc if request.chat is None else as_completion(doc), wall_ms)

    def tokens(self, text: str) -> list[int]:
        """``/tokenize``: the ids of a text, special tokens in it included."""
        body = {"content": text, "parse_special": True}
        doc = _expect(_decode(self._send("POST", "/tokenize", _STATUS_S, body), "/tokenize"), dict, "/tokenize")
        return [_expect(one, int, "/tokenize") for one in _expect(doc.get("tokens"), list, "/tokenize")]

    def counters(self) -> dict[str, float]:
        """Read the counters of ``/metrics``, cumulative since the start, labels being part of the name.

        Gauges are left out: several builds never reset them, or leave them at 0.
        """
        from pytest_mtp.core.engine_answer.metrics_page import counters

        text = self._send("GET", "/metrics", _STATUS_S).decode(errors="replace")
        return {_sample_name(one.name, one.labels): one.value for one in counters(text)}

    def accepted_per_position(self) -> tuple[int, ...] | None:
        """Count accepted drafts by place in the draft, since the start; ``None`` before any or if uncounted."""
        return tuple(_positions(self.counters())) or None

    def _streamed(self, request: Request) -> Answer:
        """The same, each event with the time at which it had come."""
        events: list[tuple[float, dict[str, Any]]] = []
        begin = time.perf_counter()
        # llama-server ends the connection of a stream, a moment after its last event.
        alone = {"Connection": "close"}
        with self._open("POST", request.path, request.timeout_s, request.as_json(), alone) as response:
            rest = b""
            for piece in _pieces(response, request.path):
                came_ms = 1000 * (time.perf_counter() - begin)
                lines, rest = split_lines(rest, piece)
                said = (one for one in lines if one.startswith(_EVENT) and one != _DONE)
                events += ((came_ms, _event(one.removeprefix(_EVENT), request.path)) for one in said)
        wall_ms = 1000 * (time.perf_counter() - begin)
        return parse_stream(events if request.chat is None else as_events(events), wall_ms)

    def _json(self, method: str, path: str) -> object:
        return _decode(self._send(method, path, _STATUS_S), path)

    def _send(self, method: str, path: str, timeout_s: float, body: object = None) -> bytes:
        with self._open(method, path, timeout_s, body) as response:
            return b"".join(_pieces(response, path))

    @contextmanager
    def _open(
        self, method: str, path: str, timeout_s: float, body: object, headers: Mapping[str, str] = MappingProxyType({})
    ) -> "Iterator[httpx.Response]":
        """An answer whose body is yet to be read; whatever goes wrong until it is, is said in our words."""
        import httpx

        from pytest_mtp.runtime.punctual import ending_within

        timeout = httpx.Timeout(timeout_s, connect=min(_CONNECT_S, timeout_s))
        asked = self._http.build_request(method, path, json=body, timeout=timeout, headers=dict(headers))
        try:
            with ending_within(timeout_s), closing(self._http.send(asked, stream=True)) as response:
                if response.status_code != _OK:
                    reason = _reason(b"".join(_pieces(response, path)))
                    raise MeasureError(f"{path} answered HTTP {response.status_code}: {reason}.")
                yield response
        except httpx.TimeoutException as error:
            raise _late(path, timeout_s) from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise MeasureError(f"The connection broke before {path} was answered: {error}.") from error


def _pieces(response: "httpx.Response", path: str) -> Iterator[bytes]:
    """The body, piece by piece, unless it has no end."""
    size = 0
    for piece in response.iter_bytes():
        size += len(piece)
        if size > _MOST_BYTES:
            raise MeasureError(f"{path} answered more than {_MOST_BYTES // 2**20} MiB, so it was not read to its end.")
        yield piece


def _positions(counters: Mapping[str, float]) -> Iterator[int]:
    position = 0
    while (count := counters.get(f'{_PER_POSITION}{{position="{position}"}}')) is not None:
        if not math.isfinite(count):
            raise MeasureError(f"/metrics counts {count} accepted drafts, which is no number of them.")
        yield int(count)
        position += 1


def _sample_name(name: str, labels: Mapping[str, str]) -> str:
    listed = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    return f"{name}{{{listed}}}" if listed else name


def _late(path: str, timeout_s: float) -> ServerLate:
    return ServerLate(f"No answer to {path} within {timeout_s:g} s; the server hangs or is too slow.")


def _event(text: bytes, path: str) -> dict[str, Any]:
    return _expect(_decode(text, f"an event of {path}"), dict, f"an event of {path}")


def _decode(body: bytes, path: str) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MeasureError(f"{path} answered no JSON: {_start(body)!r}.") from error


def _expect(doc: object, shape: type[Shape], path: str) -> Shape:
    if not isinstance(doc, shape):
        raise MeasureError(f"{path} answered {type(doc).__name__} where {shape.__name__} belongs.")
    return doc


def _reason(body: bytes) -> str:
    """Read llama-server's own words, else the start of the body."""
    try:
        return str(json.loads(body)["error"]["message"])[:_SHOWN]
    except (ValueError, KeyError, TypeError, RecursionError):
        return _start(body) or "no reason given"


def _start(body: bytes) -> str:
    return body[:_SHOWN].decode(errors="replace")
