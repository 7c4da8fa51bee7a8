"""Smart HTTP on loopback by git's own http-backend, and repositories to serve."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from shutil import copyfileobj
from typing import ClassVar

from tests.fakes.loopback import serving


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(repository: Path, text: str) -> str:
    (repository / "CMakeLists.txt").write_text(text)
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", text)
    return git(repository, "rev-parse", "HEAD")


def new_repository(folder: Path) -> Path:
    """One commit on master, whose CMakeLists.txt says ``first``; it serves what large hosts serve."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "master")
    git(folder, "config", "uploadpack.allowFilter", "true")
    commit(folder, "first")
    return folder


@dataclass
class GitServer:
    """What a test sets and reads while it is served."""

    url: str
    speaks_v2: bool = True
    login_wanted: bool = False
    status: int = 0
    """Answered to everything, unless 0."""
    elsewhere: str = ""
    """Where everything is redirected to."""
    tokens: list[str] = field(default_factory=list)
    """All that was sent as ``Authorization``."""
    asked: list[str] = field(default_factory=list)
    """``METHOD PATH PROTOCOL`` of every request."""


@contextmanager
def serve_git(root: Path) -> Iterator[GitServer]:
    """Serve the repositories in ``root`` until the block ends."""

    class Handler(_Handler):
        folder = root

    with serving(Handler) as url:
        Handler.state = GitServer(url)
        yield Handler.state


class _Handler(BaseHTTPRequestHandler):
    folder: ClassVar[Path]
    state: ClassVar[GitServer]

    def do_GET(self) -> None:
        protocol = self.headers.get("Git-Protocol", "") if self.state.speaks_v2 else ""
        path, _, query = self.path.partition("?")
        self.state.asked.append(f"{self.command} {path} {protocol}")
        self.state.tokens += self.headers.get_all("Authorization", [])
        if self.state.status or self.state.elsewhere:
            self.send_response(self.state.status or 302)
            self.send_header("Location", f"{self.state.elsewhere}{self.path}")
            self.end_headers()
            return
        if self.state.login_wanted:
            self.send_response(401)
            self.send_header("WWW-Authenticate", "Basic")
            self.end_headers()
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer(body, {"PATH_INFO": path, "QUERY_STRING": query, "GIT_PROTOCOL": protocol})

    do_POST = do_GET

    def _answer(self, body: bytes, variables: dict[str, str]) -> None:
        environment = os.environ | variables
        environment |= {"GIT_PROJECT_ROOT": str(self.folder), "GIT_HTTP_EXPORT_ALL": "1", "REMOTE_ADDR": "127.0.0.1"}
        environment |= {"REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", "")}
        environment |= {"HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", "")}
        pipe = subprocess.PIPE
        with subprocess.Popen(["git", "http-backend"], env=environment, stdin=pipe, stdout=pipe, stderr=pipe) as cgi:
            assert cgi.stdin is not None
            assert cgi.stdout is not None
            cgi.stdin.write(body)
            cgi.stdin.close()
            head = dict(line.decode().strip().split(": ", 1) for line in iter(cgi.stdout.readline, b"\r\n"))
            self.send_response(int(head.pop("Status", "200").split()[0]))
            for name, value in head.items():
                self.send_header(name, value)
            self.end_headers()
            copyfileobj(cgi.stdout, self.wfile)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""
