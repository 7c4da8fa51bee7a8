"""How a server of any engine is asked over HTTP. Nothing is retried: a request asked again is another measurement."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pytest_mtp.core.endpoint import KEY_VARIABLE
from pytest_mtp.core.engine_answer.protocol import Stream
from pytest_mtp.core.engine_answer.reading import Line, error_of, split_lines
from pytest_mtp.errors import MeasureError, ServerLate, SettingsError

if TYPE_CHECKING:
    import httpx

_CONNECT_S = 5.0
_STATUS_S = 10.0
_OK = 200
MOST_BYTES = 64 * 2**20
_KEYLESS = (401, 403)
_SHOWN = 200

Framing = Callable[[Sequence[Line], bytes, float], Stream]
"""Lines, what is left of the last one, and the time it all took, as events."""


class Connection:
    """A connection to one server, closed with the ``with`` block; errors are MeasureError and ServerLate."""

    def __init__(self, url: str, api_key: str | None = None, status_s: float = _STATUS_S) -> None:
        import httpx

        from pytest_mtp.runtime.punctual import PunctualTransport

        self.url, self.api_key, self._status_s = url, api_key, status_s
        # Compressed events come in lumps, and a proxy of the environment has no business on the way.
        headers = {"Accept-Encoding": "identity"} | ({} if api_key is None else {"Authorization": f"Bearer {api_key}"})
        try:
            self._http = httpx.Client(base_url=url, headers=headers, trust_env=False, transport=PunctualTransport())
        except (httpx.InvalidURL, UnicodeError) as error:
            raise _no_address(url, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def ready(self, path: str) -> bool:
        """Whether a path answers with 200; ``False`` while nothing listens."""
        import httpx

        from pytest_mtp.runtime.punctual import ending_within

        try:
            asking = self._http.stream("GET", path, timeout=self._status_s)
            with ending_within(self._status_s), asking as response:
                return response.status_code == _OK
        except httpx.TransportError:
            return False

    def look(self, path: str) -> Mapping[str, object] | None:
        """A table of JSON, or ``None`` where this server has none at that path."""
        with self._open("GET", path, self._status_s) as response:
            body = _whole(response, path)
            if response.status_code in _KEYLESS:
                raise _refused(response.status_code, path, body)
            return None if response.status_code != _OK else _table(body)

    def text(self, path: str) -> str:
        """What a path answers."""
        with self._open("GET", path, self._status_s) as response:
            return _good(response, path).decode(errors="replace")

    def document(self, path: str, body: object) -> Mapping[str, object]:
        """The table that a path answers to ``body``."""
        with self._open("POST", path, self._status_s, body) as response:
            content = _good(response, path)
        table = _table(content)
        if table is None:
            raise MeasureError(f"{path} answered no table of JSON: {content[:_SHOWN].decode(errors='replace')!r}.")
        return table

    def stream(self, path: str, body: object, timeout_s: float, framing: Framing) -> Stream:
        """Every event that a path answers to ``body``, each with the time at which it had come."""
        begin = time.perf_counter()
        lines: list[Line] = []
        rest = b""
        with self._open("POST", path, timeout_s, body) as response:
            if response.status_code != _OK:
                raise _refused(response.status_code, path, _whole(response, path))
            for piece in _pieces(response, path):
                came_ms = _since_ms(begin)
                whole, rest = split_lines(rest, piece)
                lines += [(came_ms, line) for line in whole]
        return framing(lines, rest, _since_ms(begin))

    @contextmanager
    def _open(self, method: str, path: str, timeout_s: float, body: object = None) -> "Iterator[httpx.Response]":
        """An answer whose body is yet to be read; whatever goes wrong until it is, is said in our words."""
        import httpx

        from pytest_mtp.runtime.punctual import ending_within

        timeout = httpx.Timeout(timeout_s, connect=min(_CONNECT_S, timeout_s))
        try:
            with ending_within(timeout_s), self._http.stream(method, path, json=body, timeout=timeout) as response:
                yield response
        except httpx.ConnectError as error:
            raise ServerLate(
                f"Nothing answers at {self.url}: {error}. Start the server, or correct the URL."
            ) from error
        except httpx.TimeoutException as error:
            raise _late(path, timeout_s) from error
        except UnicodeError as error:
            # The resolver's, of a name that cannot be written in the letters of names.
            raise _no_address(self.url, error) from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise MeasureError(f"The connection broke before {path} was answered: {str(error).rstrip('.')}.") from error


def _good(response: "httpx.Response", path: str) -> bytes:
    body = _whole(response, path)
    if response.status_code != _OK:
        raise _refused(response.status_code, path, body)
    return body


def _whole(response: "httpx.Response", path: str) -> bytes:
    return b"".join(_pieces(response, path))


def _pieces(response: "httpx.Response", path: str) -> Iterator[bytes]:
    """The body piece by piece, unless it has no end."""
    size = 0
    for piece in response.iter_bytes():
        size += len(piece)
        if size > MOST_BYTES:
            raise MeasureError(f"{path} answered more than {MOST_BYTES // 2**20} MiB, so it was not read to its end.")
        yield piece


def _no_address(url: str, error: Exception) -> SettingsError:
    return SettingsError(f"No server can be at {url}: {error}. Correct the URL.")


def _since_ms(begin: float) -> float:
    return 1000 * (time.perf_counter() - begin)


def _late(path: str, timeout_s: float) -> ServerLate:
    return ServerLate(f"No whole answer to {path} within {timeout_s:g} s; the server hangs or is too slow.")


def _refused(status: int, path: str, body: bytes) -> MeasureError:
    """The server's own words, else the start of the body; and the mend where a key lacks."""
    doc = _table(body) or {}
    reason = error_of(doc) or str(doc.get("message") or "") or body[:_SHOWN].decode(errors="replace")
    mend = f" Put the server's key into the environment variable {KEY_VARIABLE}." if status in _KEYLESS else ""
    return MeasureError(f"{path} answered HTTP {status}: {(reason or 'no reason given').rstrip('.')}.{mend}")


def _table(body: bytes) -> Mapping[str, object] | None:
    import json

    try:
        doc = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return doc if isinstance(doc, dict) else None
