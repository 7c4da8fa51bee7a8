"""One time for a whole exchange with a server, however slowly its bytes come.

httpx limits each wait for bytes; a server that sends one a second, or answers for ever that it goes on, breaks no
such limit.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from ssl import SSLContext
from typing import Any

import httpcore
import httpx

_end: ContextVar[float | None] = ContextVar("end", default=None)


@contextmanager
def ending_within(seconds: float) -> Iterator[None]:
    """Let everything that this thread reads and writes through a ``PunctualTransport`` end in time, or time out."""
    before = _end.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _end.reset(before)


class PunctualTransport(httpx.HTTPTransport):
    """httpx's own, without proxies, whose waits are no longer than what ``ending_within`` leaves.

    ``socket`` is the path of a UNIX socket, where the server has no network.
    """

    def __init__(self, socket: str | None = None) -> None:
        ssl_context = httpx.create_ssl_context(trust_env=False)
        super().__init__(verify=ssl_context, trust_env=False)
        # There is no public way to say what the connections of a transport are made by.
        self._pool = httpcore.ConnectionPool(ssl_context=ssl_context, uds=socket, network_backend=_PunctualNetwork())


class _PunctualNetwork(httpcore.SyncBackend):
    def connect_tcp(self, host: str, port: int, timeout: float | None = None, *rest: Any, **more: Any) -> "_Stream":
        return _Stream(super().connect_tcp(host, port, _left(timeout, httpcore.ConnectTimeout), *rest, **more))

    def connect_unix_socket(self, path: str, timeout: float | None = None, *rest: Any, **more: Any) -> "_Stream":
        return _Stream(super().connect_unix_socket(path, _left(timeout, httpcore.ConnectTimeout), *rest, **more))


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, _left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> "_Stream":
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, _left(timeout, httpcore.ConnectTimeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


def _left(timeout: float | None, late: type[httpcore.TimeoutException]) -> float | None:
    """The shorter of a wait and of what is left; ``late`` is raised where nothing is."""
    end = _end.get()
    if end is None:
        return timeout
    left = end - time.monotonic()
    if left <= 0:
        raise late("the time for all of it is over")
    return left if timeout is None else min(timeout, left)
