"""How a stand-in speaks HTTP: JSON, or a stream that can go wrong on the way."""

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

_HANGING_S = 5.0


@dataclass
class Trouble:
    """What goes wrong, by the test's word."""

    fault: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    """Every body that came."""
    done: threading.Event = field(default_factory=threading.Event)
    """Set at the end of a test, so that nothing that hangs outlives it."""


class Speaker(BaseHTTPRequestHandler):
    """A handler with a ``trouble`` of its class."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    trouble: Trouble

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""

    def body(self) -> dict[str, Any]:
        """What was asked, remembered."""
        body: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.trouble.asked.append(body | {"path": self.path, "key": self.headers["Authorization"]})
        return body

    def say(self, status: int, content: object) -> None:
        """Answer with JSON, or with a text as it is."""
        payload = (content if isinstance(content, str) else json.dumps(content)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def stream(self, lines: Iterator[str]) -> None:
        """Answer with lines in pieces that are cut within characters; or buffered, or break off, hang, or drip."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if self.trouble.fault == "buffered":
            self.piece("".join(f"{line}\n" for line in lines).encode())
        for number, line in enumerate(lines):
            payload = f"{line}\n".encode()
            if number and "ü" in line and self._went_wrong(payload):
                return
            cut = next((place for place, byte in enumerate(payload) if byte > 0x7F), 0) + 1
            self.piece(payload[:cut])
            self.piece(payload[cut:])
        self.wfile.write(b"0\r\n\r\n")

    def piece(self, payload: bytes) -> None:
        """One piece of the stream."""
        if payload:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(payload), payload))

    def _went_wrong(self, payload: bytes) -> bool:
        fault = self.trouble.fault
        mark = b"data: " if payload.startswith(b"data: ") else b""
        last = {
            "cut-in-a-character": payload[: payload.index("ü".encode()) + 1],
            "no-json": mark + b"<html>\n",
            "error-event": mark + b'{"error": "out of blocks"}\n',
        }
        if fault == "dies":
            self.connection.shutdown(socket.SHUT_RDWR)
        elif fault == "hangs":
            self.trouble.done.wait(_HANGING_S)
        elif fault == "drips":
            self._drip()
        elif fault in last:
            self.piece(last[fault])
            self.wfile.write(b"0\r\n\r\n")
        return bool(fault) and fault != "restarted"

    def _drip(self) -> None:
        with contextlib.suppress(OSError):
            while not self.trouble.done.wait(0.02):
                self.piece(b":")
