"""A hub on loopback that speaks what huggingface_hub asks for a model file, and misbehaves on request."""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "a" * 40
NEWER = "b" * 40


@dataclass
class Repo:
    """A model repository: its branches, and the files of each commit."""

    files: dict[str, dict[str, bytes]]
    """By commit, then by name."""
    refs: dict[str, str] = field(default_factory=lambda: {"main": COMMIT})
    private: bool = False
    gated: bool = False


@dataclass(frozen=True)
class Reply:
    """An answer given once in the place of the right one."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class FakeHub:
    """What the hub has, what it does wrong, and what it was asked."""

    endpoint: str
    repos: dict[str, Repo] = field(default_factory=dict)
    token: str | None = None
    """The only token that is not refused."""
    replies: dict[str, list[Reply]] = field(default_factory=dict)
    """By method (``HEAD``, ``GET``), to be used up first."""
    cuts: list[int] = field(default_factory=list)
    """Bytes after which the connection of the next downloads breaks."""
    wrong_bytes: dict[str, bytes] = field(default_factory=dict)
    """By name: what is sent in the place of the file."""
    told_size: dict[str, int] = field(default_factory=dict)
    """By name: the size that is announced."""
    redirect: bool = False
    """Whether files come from another host name, as they do from the real hub."""
    commit_told: bool = True
    knows_ranges: bool = True
    requests: list[str] = field(default_factory=list)
    """``METHOD /path``, with ``+token`` where one was sent, and ``Range`` where a part was asked for."""

    def publish(self, repo: str, files: dict[str, bytes], commit: str = COMMIT) -> None:
        """Put files into a new commit, and ``main`` on it."""
        at = self.repos.setdefault(repo, Repo(files={}))
        at.files[commit] = files
        at.refs["main"] = commit

    def count(self, method: str) -> int:
        """How many requests of a method there were."""
        return sum(request.startswith(f"{method} ") for request in self.requests)


@contextmanager
def serving() -> Iterator[FakeHub]:
    """A fake hub on a free port of loopback."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    hub = FakeHub(f"http://127.0.0.1:{server.server_port}")
    server.hub = hub  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, *_: object) -> None:
        """The tests say what matters."""

    @property
    def hub(self) -> FakeHub:
        hub: FakeHub = self.server.hub  # type: ignore[attr-defined]
        return hub

    def _answer(self) -> None:
        self._note()
        path = self.path.split("?")[0]
        if self.hub.replies.get(self.command):
            reply = self.hub.replies[self.command].pop(0)
            self._send(reply.status, reply.headers)
        elif found := re.fullmatch(r"/(cdn/)?([^/]+/[^/]+)/resolve/(.+?)/([^/]+\.gguf|sub/[^/]+)", path):
            self._resolve(found[2], found[3], found[4], cdn=bool(found[1]))
        elif found := re.fullmatch(r"/api/models/([^/]+/[^/]+)/revision/(.+)", path):
            self._list(found[1], found[2])
        else:
            self._send(404, {})

    def _note(self) -> None:
        marks = [
            mark for mark, header in {"+token": "Authorization", "Range": "Range"}.items() if header in self.headers
        ]
        self.hub.requests.append(" ".join([self.command, self.path, *marks]))

    def _resolve(self, name: str, revision: str, file: str, *, cdn: bool) -> None:
        repo = self.hub.repos.get(name)
        if not cdn and (refusal := self._refusal(repo)):
            self._send(*refusal)
        elif repo is None or (commit := repo.refs.get(revision, revision)) not in repo.files:
            self._send(404, {"X-Error-Code": "RevisionNotFound"})
        elif file not in repo.files[commit]:
            self._send(404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit})
        else:
            self._file(file, repo.files[commit][file], commit, cdn=cdn)

    def _refusal(self, repo: Repo | None) -> tuple[int, dict[str, str]] | None:
        """Status and headers of who may not read, as the hub gives them."""
        sent = self.headers.get("Authorization")
        known = sent is not None and sent == f"Bearer {self.hub.token}"
        if sent is not None and not known:
            return 401, {"X-Error-Message": "Invalid credentials in Authorization header"}
        if repo is None or (repo.private and not known):
            return (404 if known else 401), {"X-Error-Code": "RepoNotFound"}
        if repo.gated:
            return (403 if known else 401), {"X-Error-Code": "GatedRepo"}
        return None

    def _file(self, name: str, data: bytes, commit: str, *, cdn: bool) -> None:
        size = self.hub.told_size.get(name, len(data))
        headers = {"X-Linked-Etag": f'"{hashlib.sha256(data).hexdigest()}"', "X-Linked-Size": str(size)}
        if self.hub.commit_told:
            headers["X-Repo-Commit"] = commit
        if self.hub.redirect and not cdn:
            port = self.hub.endpoint.rpartition(":")[2]
            self._send(302, {**headers, "Location": f"http://localhost:{port}/cdn{self.path}"})
        elif self.command == "HEAD":
            self._send(200, headers)
        else:
            self._body(self.hub.wrong_bytes.get(name, data), headers)

    def _body(self, data: bytes, headers: dict[str, str]) -> None:
        wanted = re.match(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")) if self.hub.knows_ranges else None
        cut = self.hub.cuts.pop(0) if self.hub.cuts else None
        if wanted is None:
            self._send(200, headers, data, cut)
            return
        start, end = int(wanted[1]), min(int(wanted[2] or len(data) - 1), len(data) - 1)
        self._send(206, {**headers, "Content-Range": f"bytes {start}-{end}/{len(data)}"}, data[start : end + 1], cut)

    def _list(self, name: str, revision: str) -> None:
        repo = self.hub.repos[name]
        files = repo.files[repo.refs.get(revision, revision)]
        listing = {"id": name, "siblings": [{"rfilename": file} for file in files]}
        self._send(200, {"Content-Type": "application/json"}, json.dumps(listing).encode())

    def _send(self, status: int, headers: dict[str, str], body: bytes = b"", cut: int | None = None) -> None:
        """Answer; ``cut`` breaks the connection after so many bytes of the body."""
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(OSError):  # who hung up has heard enough
            self.wfile.write(body[:cut])
        self.close_connection = cut is not None
