"""RunPod's REST API v2 on loopback: holds pods, checks every request and answer by a schema, fails on request."""

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

from jsonschema import Draft202012Validator

from tests.fakes.loopback import serving

KEY = "rpa_CANARY5e1fb07c5e1fb07c5e1fb07c"
SCHEMA = json.loads((Path(__file__).parent / "runpod_v2.json").read_text())
_UP = ("PROVISIONING", "STARTING", "RUNNING")


@dataclass(frozen=True)
class Reply:
    """An answer given once in the place of the right one; with ``done`` what was asked for happens all the same."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    detail: str = "as the test wants"
    done: bool = False
    cut: bool = False
    """Break the connection in the place of an answer."""


@dataclass
class FakePod:
    """A pod, and what it will be at each further look."""

    id: str
    body: dict[str, Any]
    created_at: datetime
    statuses: list[str]
    cost: float

    @property
    def own_key(self) -> str:
        """The key that the pod finds in its environment, good for itself alone."""
        return f"pod-key-of-{self.id}"


@dataclass
class RunPod:
    """What a test sets and reads while it is served."""

    url: str
    pods: dict[str, FakePod] = field(default_factory=dict)
    gpus: list[dict[str, Any]] = field(default_factory=list)
    replies: dict[str, list[Reply]] = field(default_factory=dict)
    """By method and path, such as ``POST /v2/pods``, to be used up first; ``*`` stands for an identifier."""
    statuses: tuple[str, ...] = _UP
    """Of each new pod: what it is when it is made, and at each look after that; the last one stays."""
    door: tuple[str, int, str] = ("127.0.0.1", 9, "root")
    cost: float | None = None
    """What is billed per hour; ``None`` is the list price."""
    listed_late: int = 0
    """How many times the list is without any pod, as it may be just after one was made."""
    on_create: Callable[[FakePod], None] = lambda _: None
    on_look: Callable[[FakePod], None] = lambda _: None
    asked: list[str] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """What the description of the API does not allow, of requests and of our own answers."""
    lock: threading.RLock = field(default_factory=threading.RLock)

    def check(self, kind: str, value: object) -> str | None:
        """The first break of the schema."""
        document = {"$ref": f"#/$defs/{kind}", "$defs": SCHEMA["$defs"]}
        checker = Draft202012Validator.FORMAT_CHECKER
        errors = sorted(Draft202012Validator(document, format_checker=checker).iter_errors(value), key=str)
        return f"{kind}: {errors[0].message} at {errors[0].json_path}" if errors else None

    def create(self, body: dict[str, Any]) -> FakePod:
        """Make a pod of a checked request."""
        gpu = next(one for one in self.gpus if one["id"] == body["gpu"]["id"])
        price: float = gpu["price"][body.get("cloud", "SECURE").lower()]
        made = FakePod(
            id=f"pod{len(self.asked)}x{len(self.pods)}",
            body=body,
            created_at=datetime.now(UTC),
            statuses=list(self.statuses),
            cost=price if self.cost is None else self.cost,
        )
        self.pods[made.id] = made
        self.on_create(made)
        return made

    def plant(self, name: str, hours: float = 0.0) -> FakePod:
        """A pod that somebody made some hours ago."""
        body = {"name": name, "image": "image", "gpu": {"id": self.gpus[0]["id"]}}
        pod = self.create(body)
        pod.created_at -= timedelta(hours=hours)
        pod.statuses[:] = ["RUNNING"]
        return pod

    def shown(self, pod: FakePod) -> dict[str, Any]:
        """A pod as the API shows it."""
        host, port, user = self.door
        command = f"ssh {user}@{host} -p {port}"
        direct = {"host": host, "port": port, "username": user, "command": command}
        status = pod.statuses[0]
        return {
            "id": pod.id,
            "name": pod.body["name"],
            "status": status,
            "actions": ["terminate"],
            "image": pod.body["image"],
            "args": pod.body.get("args", ""),
            "disk": pod.body.get("disk", 50),
            "mounts": pod.body.get("mounts", {}),
            "ports": pod.body.get("ports", []),
            "env": pod.body.get("env", {}),
            "registry": None,
            "gpu": {"id": pod.body["gpu"]["id"], "count": 1, "vcpuCount": 16, "memory": 64},
            "cloud": pod.body.get("cloud", "SECURE"),
            "dataCenterId": "US-KS-2",
            "cudaVersion": "12.8",
            "ssh": {"proxy": None, "direct": direct if status == "RUNNING" else None},
            "template": None,
            "cost": pod.cost,
            "locked": False,
            "globalNetworking": {"enabled": False},
            "runtime": None,
            "createdAt": pod.created_at.isoformat(),
            "startedAt": None,
        }


def gpu(identifier: str, secure: float, community: float, availability: str = "HIGH") -> dict[str, Any]:
    """A row of the catalog."""
    return {
        "id": identifier,
        "name": identifier.removeprefix("NVIDIA GeForce "),
        "pool": None,
        "manufacturer": "NVIDIA",
        "memory": 24,
        "secure": secure > 0,
        "community": community > 0,
        "price": {"secure": secure, "community": community},
        "maxCount": {"secure": 8, "community": 4},
        "availability": availability,
    }


@contextmanager
def serve_runpod() -> Iterator[RunPod]:
    """An account with a catalog of two cards and no pod; what broke the description fails the test in the end."""

    class Handler(_Handler):
        pass

    with serving(Handler) as url:
        peer = Handler.peer = RunPod(url)
        peer.gpus = [
            gpu("NVIDIA GeForce RTX 3090", 0.46, 0.22),
            gpu("NVIDIA GeForce RTX 4090", 0.69, 0.34),
        ]
        yield peer
    assert peer.wrong == []


class _Handler(BaseHTTPRequestHandler):
    peer: ClassVar[RunPod]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._locked()

    def do_POST(self) -> None:
        self._locked()

    def do_DELETE(self) -> None:
        self._locked()

    def log_message(self, *_: object) -> None:
        """The tests say what matters."""

    def _locked(self) -> None:
        with self.peer.lock:
            self._answer()

    def _answer(self) -> None:
        split = urlsplit(self.path)
        self.peer.asked.append(f"{self.command} {split.path}")
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        reply = self._planned(split.path)
        if reply is not None and not reply.done:
            self._refuse(reply)
            return
        status, answer = self._right(split.path, dict(parse_qsl(split.query)), content)
        if reply is not None:
            self._refuse(reply)
        else:
            self._send(status, answer)

    def _planned(self, path: str) -> Reply | None:
        general = re.sub(r"(?<=/pods/)[^/]+", "*", path)
        planned = self.peer.replies.get(f"{self.command} {general}")
        return planned.pop(0) if planned else None

    def _right(self, path: str, query: dict[str, str], content: bytes) -> tuple[int, dict[str, Any] | None]:
        """What the described API answers."""
        identifier = path.removeprefix("/v2/pods/")
        sent = self.headers.get("Authorization", "").removeprefix("Bearer ")
        pod = self.peer.pods.get(identifier)
        own = pod is not None and sent == pod.own_key and self.command == "DELETE"
        if sent != KEY and not own:
            return 401, _problem(401, "missing or invalid bearer token")
        if self.command == "GET" and path == "/v2/catalog/gpus":
            self._expect("CatalogQuery", query)
            return 200, self._checked("GpuTypes", {"gpus": self.peer.gpus})
        self._expect("NoQuery", query)
        if path == "/v2/pods":
            return self._create(content) if self.command == "POST" else (200, self._list())
        if pod is None or not path.startswith("/v2/pods/"):
            return 404, _problem(404, "pod not found")
        if self.command == "DELETE":
            del self.peer.pods[identifier]
            return 204, None
        return 200, self._look(pod)

    def _create(self, content: bytes) -> tuple[int, dict[str, Any]]:
        if self.headers.get("Content-Type") != "application/json":
            self.peer.wrong.append("a body that is not said to be JSON")
        body = json.loads(content)
        self.peer.bodies.append(body)
        if KEY in content.decode():
            self.peer.wrong.append("the account's key is in a body")
        if not self._expect("CreatePodRequest", body):
            return 422, _problem(422, "Request validation failed.")
        if body["gpu"]["id"] not in {one["id"] for one in self.peer.gpus}:
            return 400, _problem(400, "no such GPU")
        return 201, self._checked("Pod", self.peer.shown(self.peer.create(body)))

    def _list(self) -> dict[str, Any]:
        late = self.peer.listed_late > 0
        self.peer.listed_late -= late
        shown = [] if late else [self.peer.shown(one) for one in self.peer.pods.values()]
        return self._checked("PodList", {"pods": shown})

    def _look(self, pod: FakePod) -> dict[str, Any]:
        if len(pod.statuses) > 1:
            pod.statuses.pop(0)
        self.peer.on_look(pod)
        return self._checked("Pod", self.peer.shown(pod))

    def _expect(self, kind: str, value: object) -> bool:
        wrong = self.peer.check(kind, value)
        if wrong is not None:
            self.peer.wrong.append(wrong)
        return wrong is None

    def _checked(self, kind: str, value: dict[str, Any]) -> dict[str, Any]:
        self._expect(kind, value)
        return value

    def _refuse(self, reply: Reply) -> None:
        if reply.cut:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self._send(reply.status, self._checked("Problem", _problem(reply.status, reply.detail)), reply.headers)

    def _send(self, status: int, answer: dict[str, Any] | None, headers: dict[str, str] | None = None) -> None:
        content = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        kind = "application/json" if status < 400 else "application/problem+json"
        lengths = {} if status == 204 else {"Content-Length": str(len(content)), "Content-Type": kind}
        for name, value in {**lengths, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


def _problem(status: int, detail: str) -> dict[str, Any]:
    return {"title": "Problem", "status": status, "detail": detail}
