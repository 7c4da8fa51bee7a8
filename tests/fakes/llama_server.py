"""A llama-server of 100 lines, for the faults that the real one does not commit on request.

It speaks --help, --version, /health (503 twice, then 200), /props, /slots, /completion, /metrics and chat,
and drafts like a head that is right every time. ``--fault NAME`` makes it misbehave.
"""

import json
import os
import resource
import signal
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HELP = """\
----- common params -----

-h,    --help, --usage                  print usage and exit
-c,    --ctx-size N                     size of the prompt context (default: 0)
-fa,   --flash-attn [on|off|auto]       set Flash Attention use ('on', 'off', or 'auto', default: 'auto')
-ngl,  --gpu-layers, --n-gpu-layers N   max. number of layers to store in VRAM
-fit,  --fit [on|off]                   whether to adjust unset arguments to fit in device memory
-m,    --model FNAME                    model path to load
-a,    --alias STRING                   set model name aliases


----- speculative params -----

--spec-draft-n-max N                    number of tokens to draft for speculative decoding (default: 3)
--spec-draft-p-min, --draft-p-min P     minimum speculative decoding probability (greedy) (default: 0.00)
--spec-type none,draft-simple,draft-mtp,ngram-mod
                                        comma-separated list of types of speculative decoding to use
--draft, --draft-n, --draft-max N       the argument has been removed. use --spec-draft-n-max


----- example-specific params -----

-np,   --parallel N                     number of server slots (default: -1, -1 = auto)
-cram, --cache-ram N                    set the maximum cache size in MiB (default: 8192)
--host HOST                             ip address to listen
--port PORT                             port to listen (default: 8080)
--api-key-file FNAME                    path to file containing API keys
--metrics                               enable prometheus compatible metrics endpoint (default: disabled)
--slots, --no-slots                     expose slots monitoring endpoint (default: enabled)
"""
FOREVER = threading.Event()


def value(name: str, default: str = "") -> str:
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def log(line: str) -> None:
    sys.stderr.write(f"{line}\n")


FAULT = value("--fault")
SPECULATIVE = value("--spec-type") == "draft-mtp" and FAULT != "not-speculative"
SLOTS = 2 if FAULT == "two-slots" else int(value("-np", "4"))
N_MAX = int(value("--spec-draft-n-max", "3"))
KEY = Path(value("--api-key-file")).read_text().strip() if value("--api-key-file") else None
COUNTS = {"health": 0, "steps": 0}
POSITIONS = [0] * N_MAX


# Times that fit into the moment an answer takes; the others claim more than has passed.
STEP_MS = 0.001 if FAULT in {"honest", "short", "cached", "plain-drafts"} else 2.0


def timings(tokens: int) -> dict[str, float]:
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
    return {**fixed, "predicted_n": tokens, "predicted_ms": STEP_MS * steps, **drafts}


def metrics() -> str:
    name = "llamacpp:spec_decode_num_accepted_tokens_per_pos_total"
    rows = [f'{name}{{position="{place}"}} {count}' for place, count in enumerate(POSITIONS)]
    family = [f"# TYPE {name} counter", *rows] if any(POSITIONS) else []
    head = ["# TYPE llamacpp:n_decode_total counter", f"llamacpp:n_decode_total {COUNTS['steps']}"]
    gauge = ["# TYPE llamacpp:predicted_tokens_seconds gauge", "llamacpp:predicted_tokens_seconds 0.0"]
    return "\n".join([*head, *gauge, *family]) + "\n"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/health":
            COUNTS["health"] += 1
            loading = COUNTS["health"] <= 2 or FAULT == "never-ready"
            self.say(503 if loading else 200, {"error": {"message": "Loading model"}} if loading else {"status": "ok"})
        elif KEY is not None and self.headers["Authorization"] != f"Bearer {KEY}":
            self.say(401, {"error": {"message": "Invalid API Key"}})
        elif self.path == "/props":
            model = "/another/model.gguf" if FAULT == "wrong-model" else value("-m")
            self.say(200, {"model_path": model, "total_slots": SLOTS, "build_info": "b0-fake"})
        elif self.path == "/slots" and FAULT != "no-slots":
            self.say(200, [{"id": slot, "speculative": SPECULATIVE} for slot in range(SLOTS)])
        elif self.path == "/metrics" and "--metrics" in sys.argv:
            self.say(200, "no prometheus text{" if FAULT == "broken-metrics" else metrics())
        else:
            self.say(501, {"error": {"message": "This server does not support this endpoint"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if FAULT == "dies-answering":
            log("GGML_ASSERT(n_outputs_max <= cparams.n_outputs_max) failed")
            # As a crash does it: the connection is gone a moment before the process is.
            self.connection.shutdown(socket.SHUT_RDWR)
            FOREVER.wait(0.3)
            os.abort()
        elif FAULT == "hangs":
            FOREVER.wait()
        elif FAULT == "hangs-up":
            self.connection.shutdown(socket.SHUT_RDWR)
        elif FAULT == "no-json":
            self.say(200, "<html>")
        elif FAULT == "http-500":
            self.say(500, {"error": {"message": "the context is full"}})
        else:
            tokens = body.get("n_predict") or body["max_tokens"]
            answer = {"content": "x " * tokens, "stop_type": "limit", "asked": body}
            if self.path == "/v1/chat/completions":
                said = {"reasoning_content": "hm ", "content": "x " * (tokens - 1)}
                answer = {"choices": [{"message": said, "finish_reason": "length"}]}
            self.say(200, answer if FAULT == "no-timings" else answer | {"timings": timings(tokens)})

    def say(self, status: int, content: object) -> None:
        payload = (content if isinstance(content, str) else json.dumps(content)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)


def port_taken() -> bool:
    """Whether to claim that the port is taken: always, or the first time only, remembered beside the model."""
    mark = Path(value("-m") + ".port-was-taken")
    first = FAULT == "port-taken-once" and not mark.exists()
    if first:
        mark.touch()
    return first or FAULT == "port-always-taken"


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if "--help" in sys.argv:
        sys.stdout.write(HELP)
        return
    if "--version" in sys.argv:
        log("version: 0.0.0-fake (build 0, commit unknown)")
        return
    if FAULT == "dies-loading":
        sys.exit(f"error: failed to load model from {value('-m')}")
    if FAULT == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    address = (value("--host", "127.0.0.1"), int(value("--port", "8080")))
    try:
        if port_taken():
            raise OSError
        server = ThreadingHTTPServer(address, Handler)
    except OSError:
        sys.exit(f"couldn't bind HTTP server socket, hostname: {address[0]}, port: {address[1]}")
    log(f"listening on {address[1]}")
    server.serve_forever()


if __name__ == "__main__":
    main()
