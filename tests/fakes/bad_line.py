"""A line to a real peer on loopback that drips, falls silent, breaks or changes a bit, or speaks TLS for it."""

import select
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any
from urllib.parse import urlsplit

Way = Callable[[Iterator[bytes], threading.Event], Iterator[bytes]]
"""What becomes of the pieces that come back; the event is set when the line is taken down."""


def whole(pieces: Iterator[bytes], _end: threading.Event) -> Iterator[bytes]:
    """A line without a fault."""
    return pieces


def silent(_pieces: Iterator[bytes], end: threading.Event) -> Iterator[bytes]:
    """Nothing ever comes back."""
    end.wait()
    return iter(())


def dripping(pieces: Iterator[bytes], end: threading.Event) -> Iterator[bytes]:
    """A byte now and then: never silent for long, never done."""
    for piece in pieces:
        for byte in piece:
            if end.wait(0.05):
                return
            yield bytes([byte])


def until(event: threading.Event) -> Way:
    """Drip until the event is set, then give the rest at once."""

    def way(pieces: Iterator[bytes], end: threading.Event) -> Iterator[bytes]:
        for piece in pieces:
            rest = piece
            while rest and not event.is_set() and not end.wait(0.02):
                yield rest[:1]
                rest = rest[1:]
            yield rest

    return way


def broken(after: int) -> Way:
    """The connection ends after so many bytes."""

    def way(pieces: Iterator[bytes], _end: threading.Event) -> Iterator[bytes]:
        left = after
        for piece in pieces:
            yield piece[:left]
            left -= len(piece)
            if left <= 0:
                return

    return way


def flipped(behind: bytes, distance: int) -> Way:
    """One bit is changed, so many bytes behind the first place of a text."""

    def way(pieces: Iterator[bytes], _end: threading.Event) -> Iterator[bytes]:
        for piece in pieces:
            place = piece.find(behind)
            changed = bytearray(piece)
            if 0 <= place < len(piece) - distance:
                changed[place + distance] ^= 1
            yield bytes(changed)

    return way


class _Server(ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, *_: Any) -> None:
        """Connections break: that is what they are for."""


@contextmanager
def line_to(url: str, way: Way, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """The URL of the line, until the block ends; ``tls`` holds the certificate that it shows."""
    far, end = urlsplit(url), threading.Event()

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            near = _Near(tls.wrap_socket(self.request, server_side=True) if tls else self.request)
            with near.socket, socket.create_connection((far.hostname, far.port)) as peer:
                threading.Thread(target=_forward, args=(near, peer), daemon=True).start()
                for piece in way(_received(peer), end):
                    near.send(piece)
                with suppress(OSError):
                    near.hang_up()

    with _Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http{'s' * (tls is not None)}://127.0.0.1:{server.server_address[1]}"
        finally:
            end.set()
            server.shutdown()
            thread.join()


class _Near:
    """The end that the asker holds, read and written by two threads in turns: OpenSSL's object bears one at a time."""

    def __init__(self, socket: socket.socket) -> None:
        self.socket = socket
        self._turn = threading.Lock()

    def received(self) -> Iterator[bytes]:
        """What arrives, until the asker hangs up; nobody waits for it with the turn in hand."""
        while True:
            select.select([self.socket], [], [])
            with self._turn:
                piece = self.socket.recv(65536)
                while isinstance(self.socket, ssl.SSLSocket) and self.socket.pending():
                    piece += self.socket.recv(65536)
            if not piece:
                return
            yield piece

    def send(self, piece: bytes) -> None:
        with self._turn:
            self.socket.sendall(piece)

    def hang_up(self) -> None:
        """Say goodbye as TLS wants it, then as TCP does."""
        with self._turn:
            if isinstance(self.socket, ssl.SSLSocket):
                self.socket.unwrap()
            self.socket.shutdown(socket.SHUT_RDWR)


def _received(peer: socket.socket) -> Iterator[bytes]:
    while piece := peer.recv(65536):
        yield piece


def _forward(near: _Near, peer: socket.socket) -> None:
    with suppress(OSError, ValueError):
        for piece in near.received():
            peer.sendall(piece)


def certificate(folder: Path, *, days: tuple[str, str] | None = None, name: str = "IP:127.0.0.1") -> ssl.SSLContext:
    """A certificate that signs itself, made by openssl; ``days`` are its first and last moment (``YYMMDDHHMMSSZ``).

    The file for those who trust it is ``FOLDER/cert.pem``.
    """
    (folder / "index").touch()
    (folder / "serial").write_text("01\n")
    (folder / "ca.cnf").write_text(_AUTHORITY)
    first, last = days or ("20200101000000Z", "20990101000000Z")
    subject = ["-subj", "/CN=nobody", "-addext", f"subjectAltName={name}"]
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key.pem"]
    _openssl(folder, "req", "-new", *key, *subject, "-out", "request.pem")
    moments = ["-startdate", first, "-enddate", last]
    asked = ["-batch", "-notext", "-config", "ca.cnf", "-selfsign", "-keyfile", "key.pem"]
    _openssl(folder, "ca", *asked, "-in", "request.pem", *moments, "-out", "cert.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


_AUTHORITY = """\
[ca]
default_ca = own
[own]
database = index
serial = serial
new_certs_dir = .
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
"""


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)
