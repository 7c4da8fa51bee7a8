"""A small llama-server, for the faults that the real one does not commit on request.

It speaks --help, --version, /health (503 twice, then 200), /props, /slots, /completion, /metrics and chat,
and drafts like a head that is right every time. ``--fault [once:][ARM:]NAME[=VALUE][@N]`` makes it misbehave: in one
life alone of all that serve a model, in one arm alone, with a signal or the like, from its N-th answer on.
"""

import json
import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

# Run by its path, wherever that is.
sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.fakes.server_words import ANOTHER_STATUS, BROKEN_BODIES, BROKEN_TIMINGS, CUDA_FULL, HELP

FOREVER = threading.Event()
PER_POSITION = "llamacpp:spec_decode_num_accepted_tokens_per_pos_total"


def value(name: str, default: str = "") -> str:
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def log(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def log_without_end(megabytes: int) -> None:
    """Half of it in lines, half of it in one line that never ends."""
    line = "x" * 1023
    for _ in range(megabytes):
        log("\n".join([line] * 512))
    for _ in range(megabytes):
        sys.stderr.write(line * 512)


def fault() -> tuple[str, str, int]:
    """Name, value and first answer of the fault; without a name where it is another arm's, or another life has it."""
    said = value("--fault")
    once, said = said.startswith("once:"), said.removeprefix("once:")
    arm, _, said = said.rpartition(":")
    said, _, first = said.partition("@")
    name, _, number = said.partition("=")
    own = arm in {"", "mtp" if "draft-mtp" in sys.argv else "plain"}
    if own and once and "--port" in sys.argv:
        mark = Path(value("-m") + ".fault-was-had")
        own = not mark.exists()
        mark.touch()
    return name if own else "honest", number, int(first or "1")


FAULT, VALUE, FIRST = fault()
SPECULATIVE = value("--spec-type") == "draft-mtp" and FAULT != "not-speculative"
SLOTS = 2 if FAULT == "two-slots" else int(value("-np", "4"))
N_MAX = int(value("--spec-draft-n-max", "3"))
KEY = Path(value("--api-key-file")).read_text().strip() if value("--api-key-file") else None
COUNTS = {"health": 0, "steps": 0, "answers": 0}
POSITIONS = [0] * N_MAX


# Times that fit into the moment an answer takes; the others claim more than has passed.
STEP_MS = 0.001 if FAULT else 2.0


def die(said: str, how: str = "1") -> None:
    """Of a signal by its name, of a full card, or with an exit status."""
    log("\n".join([CUDA_FULL, *["#1 frame of a backtrace"] * 40]) if VALUE == "CUDA" else said)
    how = "SIGABRT" if VALUE == "CUDA" else VALUE or how
    if how.isdigit():
        os._exit(int(how))
    os.kill(os.getpid(), signal.Signals[how])
    FOREVER.wait()


def eat_memory() -> None:
    """Until the kernel ends it; at 1 GiB it gives up, so that a machine without a limit does not suffer."""
    eaten = [b"x" * 2**20 for _ in range(1024)]
    os._exit(len(eaten) % 256)


def timings(tokens: int) -> dict[str, object]:
    if FAULT == "short":
        tokens -= 1
    steps = -(-(tokens - 1) // (N_MAX + 1)) if SPECULATIVE else tokens - 1
    accepted = tokens - 1 - steps
    COUNTS["steps"] += steps
    for draft in range(accepted):
        POSITIONS[draft % N_MAX] += 1
    drafts = {"draft_n": accepted, "draft_n_accepted": accepted} if accepted else {}
    if FAULT == "plain-drafts":
        drafts = {"draft_n": 3, "draft_n_accepted": 0}
    fixed = {"cache_n": 4 if FAULT == "cached" else 0, "prompt_n": 5, "prompt_ms": 10.0}
    broken = BROKEN_TIMINGS.get(FAULT, {}) if COUNTS["answers"] >= FIRST else {}
    return {**fixed, "predicted_n": tokens, "predicted_ms": STEP_MS * steps, **drafts, **broken}


def metrics() -> str:
    rows = [f'{PER_POSITION}{{position="{place}"}} {count}' for place, count in enumerate(POSITIONS)]
    family = [f"# TYPE {PER_POSITION} counter", *rows] if any(POSITIONS) else []
    head = ["# TYPE llamacpp:n_decode_total counter", f"llamacpp:n_decode_total {COUNTS['steps']}"]
    gauge = ["# TYPE llamacpp:predicted_tokens_seconds gauge", "llamacpp:predicted_tokens_seconds 0.0"]
    return "\n".join([*head, *gauge, *family]) + "\n"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/health":
            COUNTS["health"] += 1
            if FAULT == "health-drips":
                self.drip(b"HTTP/1.1 200 OK\r\nX: ")
            elif FAULT == "health-hangs":
                FOREVER.wait()
            loading = COUNTS["health"] <= 2 or FAULT == "never-ready"
            self.say(503 if loading else 200, {"error": {"message": "Loading model"}} if loading else {"status": "ok"})
        elif KEY is not None and self.headers["Authorization"] != f"Bearer {KEY}":
            self.say(401, {"error": {"message": "Invalid API Key"}})
        elif self.path == "/props":
            model = {"wrong-model": "/another/model.gguf", "nul-model": "\0" * 999}.get(FAULT, value("-m"))
            self.say(200, {"model_path": model, "total_slots": SLOTS, "build_info": "b0-fake"})
        elif self.path == "/slots" and FAULT == "strange-slots":
            self.say(200, ["no slot"] * 999)
        elif self.path == "/slots" and FAULT != "no-slots":
            self.say(200, [{"id": slot, "speculative": SPECULATIVE} for slot in range(SLOTS)])
        elif self.path == "/metrics" and "--metrics" in sys.argv:
            broken = {
                "broken-metrics": "no prometheus text{",
                "nan-metrics": f'# TYPE {PER_POSITION} counter\n{PER_POSITION}{{position="0"}} NaN\n',
            }
            self.say(200, broken.get(FAULT) or metrics())
        else:
            self.say(501, {"error": {"message": "This server does not support this endpoint"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/tokenize":
            self.say(200, {"tokens": ["no id"] if FAULT == "strange-tokens" else list(range(len(body["content"])))})
            return
        COUNTS["answers"] += 1
        if COUNTS["answers"] < FIRST or not self.break_off():
            self.answer(body)
        if FAULT == "dies-between" and COUNTS["answers"] >= FIRST:
            die("")

    def break_off(self) -> bool:
        """Commit the fault, if it is one that leaves no answer."""
        status = ANOTHER_STATUS.get(FAULT)
        if FAULT in BROKEN_BODIES:
            self.say(200, BROKEN_BODIES[FAULT])
        elif status is not None:
            self.say(status, {"error": {"message": "the context is full"}})
        elif (breach := BREACHES.get(FAULT)) is not None:
            breach(self)
        else:
            return False
        return True

    def answer(self, body: dict[str, int]) -> None:
        tokens = body.get("n_predict") or body["max_tokens"]
        if FAULT == "prints-answering":
            log_without_end(int(VALUE))
        answer: dict[str, object] = {"content": "x " * tokens, "stop_type": "limit", "asked": body}
        if self.path == "/v1/chat/completions":
            said = {"reasoning_content": "hm ", "content": "x " * (tokens - 1)}
            answer = {"choices": [{"message": said, "finish_reason": "length"}]}
        self.say(200, answer if FAULT == "no-timings" else answer | {"timings": timings(tokens)})

    def die_answering(self) -> None:
        # As a crash does it: the connection is gone a moment before the process is.
        self.connection.shutdown(socket.SHUT_RDWR)
        FOREVER.wait(0.3)
        die("GGML_ASSERT(n_outputs_max <= cparams.n_outputs_max) failed", "SIGABRT")

    def hang_up(self) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)

    def half(self) -> None:
        self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{"content": "x x')
        self.wfile.flush()
        self.hang_up()

    def drip(self, begin: bytes) -> None:
        """Bytes without end, each long before any patience is spent."""
        self.wfile.write(begin)
        while not FOREVER.wait(0.02):
            self.wfile.write(b"x")

    def flood(self, begin: bytes, again: bytes) -> None:
        self.wfile.write(begin)
        while True:
            self.wfile.write(again)

    def say(self, status: int, content: object) -> None:
        payload = (content if isinstance(content, str) else json.dumps(content)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)


BREACHES: dict[str, Callable[[Handler], object]] = {
    "dies-answering": Handler.die_answering,
    "eats-memory": lambda _: eat_memory(),
    "hangs": lambda _: FOREVER.wait(),
    "hangs-up": Handler.hang_up,
    "half": Handler.half,
    "drips": lambda handler: handler.drip(b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n{"),
    "drips-headers": lambda handler: handler.drip(b"HTTP/1.1 200 OK\r\nX: "),
    "no-http": lambda handler: handler.flood(b"", b"ITS HTTP I SWEAR\r\n"),
    "asks-to-go-on": lambda handler: handler.flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "floods": lambda handler: handler.flood(b"HTTP/1.1 200 OK\r\n\r\n", b"[" * 2**20),
    "no-gzip": lambda handler: handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n{}"),
}


def misbehave_at_start() -> None:
    if FAULT == "dies-loading":
        die(f"error: failed to load model from {value('-m')}")
    elif FAULT == "prints":
        log_without_end(int(VALUE))
    elif FAULT == "hangs-at-start":
        FOREVER.wait()
    elif FAULT == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif FAULT == "another-listens" and os.fork():
        FOREVER.wait()


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if "--help" in sys.argv:
        if FAULT == "dies-at-help":
            die("no help")
        sys.stdout.write(HELP)
        return
    if "--version" in sys.argv:
        log("version: 0.0.0-fake (build 0, commit unknown)")
        return
    misbehave_at_start()
    address = (value("--host", "127.0.0.1"), int(value("--port", "8080")))
    try:
        if FAULT == "port-taken":
            raise OSError
        server = ThreadingHTTPServer(address, Handler)
    except OSError:
        sys.exit(f"couldn't bind HTTP server socket, hostname: {address[0]}, port: {address[1]}")
    log(f"listening on {address[1]}")
    server.serve_forever()


if __name__ == "__main__":
    main()
