"""The releases API on loopback: one release, its files behind a redirect, and what can go wrong with them."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler
from typing import ClassVar

from tests.fakes.loopback import serving


class Fault(Enum):
    """How the peer misbehaves."""

    NONE = "none"
    NO_DIGEST = "the API names no hash"
    NO_JSON = "the API answers a web page"
    OTHER_BYTES = "the file has the right size and wrong bytes"
    CUT = "the connection breaks within the file"
    SHORT = "the file is whole for HTTP, and shorter than the API says"
    LONG = "the file never ends"
    ROUND = "the file's host sends in a circle"
    ENDLESS = "the API's answer never ends"
    FILE_LATER = "the file's host answers 503"


@dataclass
class GitHub:
    """What a test sets and reads while it is served."""

    api: str
    files: dict[str, bytes] = field(default_factory=dict)
    fault: Fault = Fault.NONE
    status: int = 200
    bad_answers: int | None = None
    """How many times ``status`` is answered before 200; ``None``: always."""
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    sent: dict[str, str] = field(default_factory=dict)
    """All headers of all requests."""

    def release(self) -> bytes:
        """What the API says, with fields that nobody here reads."""
        if self.fault is Fault.NO_JSON:
            return b"<html>"
        return json.dumps({"id": 1, "tag_name": "b7", "assets": [self._asset(name) for name in self.files]}).encode()

    def _asset(self, name: str) -> dict[str, object]:
        content = self.files[name]
        digest = None if self.fault is Fault.NO_DIGEST else f"sha256:{hashlib.sha256(content).hexdigest()}"
        url = f"{self.api}/download/{name}"
        return {"id": 2, "name": name, "size": len(content), "digest": digest, "browser_download_url": url}

    def content(self, name: str) -> tuple[bytes, int]:
        """What is sent as the file, and the length that is announced."""
        content = self.files[name]
        if self.fault is Fault.OTHER_BYTES:
            content = bytes(len(content))
        if self.fault is Fault.SHORT:
            content = content[:-1]
        return (content[:-1], len(content)) if self.fault is Fault.CUT else (content, len(content))


@contextmanager
def serve_github() -> Iterator[GitHub]:
    """Serve an empty release b7 until the block ends."""

    class Handler(_Handler):
        pass

    with serving(Handler) as url:
        Handler.peer = GitHub(url)
        yield Handler.peer


class _Handler(BaseHTTPRequestHandler):
    peer: ClassVar[GitHub]

    def do_GET(self) -> None:
        self.peer.asked.append(self.path)
        self.peer.sent |= dict(self.headers)
        _, place, name = self.path.rsplit("/", 2)
        if place == "tags" and self.path == "/repos/ggml-org/llama.cpp/releases/tags/b7":
            if self.peer.bad_answers == 0:
                self.peer.status = 200
            elif self.peer.bad_answers is not None:
                self.peer.bad_answers -= 1
            self._answer(self.peer.status, self.peer.headers, self.peer.release())
            self._go_on(Fault.ENDLESS)
        elif place == "download":
            to = "download" if self.peer.fault is Fault.ROUND else "storage"
            self._answer(302, {"Location": f"{self.peer.api}/{to}/{name}"}, b"")
        elif place == "storage":
            content, length = self.peer.content(name)
            status = 503 if self.peer.fault is Fault.FILE_LATER else 200
            known = {} if self.peer.fault is Fault.LONG else {"Content-Length": str(length)}
            self._answer(status, known, content)
            self._go_on(Fault.LONG)
        else:
            self._answer(404, {}, b"{}")

    def _go_on(self, fault: Fault) -> None:
        """With this fault, send until nobody listens."""
        with suppress(OSError):
            while self.peer.fault is fault:
                self.wfile.write(bytes(1 << 20))

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""
