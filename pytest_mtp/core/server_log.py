"""The few facts that only a server's log tells."""

import re
from collections.abc import Iterator

from pytest_mtp.core.footprint import Footprint, Place

_OFFLOADED = re.compile(r"offloaded (\d{1,9})/(\d{1,9}) layers to GPU")
# "file.cpp:12: GGML_ASSERT(...) failed", as printed before a backtrace that may be longer than any excerpt.
_FAILED_CHECK = re.compile(r"^\S+\.(?:c|cc|cpp|cu|cuh|h|hpp|m|mm):\d+: ")
# Each begins with a word and has no part without a bound: a log may hold a line of any length, which must not be
# searched from each of its places to its end.
_BUFFER = re.compile(r"(model|KV|RS|compute) buffer size = {0,64}(\d{1,12}(?:\.\d{1,6})?) MiB")
_NAME_REACH = 200
_OF_THE_HOST = ("CPU", "AMX")
_NEW_CONTEXT = "constructing llama_context"
_PARTS = {"model": "weights", "KV": "kv", "RS": "recurrent", "compute": "compute"}
_DRAFT_PARTS = _PARTS | {"KV": "draft_kv", "compute": "draft_compute"}
_BUILD, _DEBUG = ": build ", re.compile(r" \(debug\)$", re.MULTILINE)
_CARD_FULL = re.compile(
    r"CUDA error: out of memory|cudaMalloc failed: out of memory|ErrorOutOfDeviceMemory|"
    r"failed to allocate (?:CUDA|ROCm|HIP|Vulkan|SYCL)\S{0,64} buffer"
)
_HOST_FULL = re.compile(
    r"std::bad_alloc|insufficient memory|failed to allocate CPU\S{0,64} buffer|mmap failed: Cannot allocate memory|"
    r"GGML_ASSERT\(ctx->mem_buffer != NULL\) failed"
)
_NO_THREAD = re.compile(r"std::system_error.{0,80}Resource temporarily unavailable", re.DOTALL)
# A terminal would obey them.
_CONTROLS = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160)), "\ufffd")
_LINE_SHOWN = 2000
_NOT_BOUND, _SOCKET = re.compile(r"couldn't bind\b", re.IGNORECASE), re.compile(r"\bsocket", re.IGNORECASE)
_PORT_TAKEN = re.compile("address already in use", re.IGNORECASE)


def offloaded_layers(log_text: str) -> tuple[int, int] | None:
    """Read layers on the GPU and layers in all; ``None`` where the log does not say (a CPU build)."""
    # The first line is the model's own; a draft model, loaded after it, prints another.
    match = _OFFLOADED.search(log_text)
    return match and (int(match[1]), int(match[2]))


def debug_build(log_text: str) -> bool:
    """Tell whether the server says that it was compiled without optimization; builds say it with ``--verbosity 4``."""
    ends = (match.start() for match in _DEBUG.finditer(log_text))
    return any(log_text.find(_BUILD, log_text.rfind("\n", 0, end) + 1, end) >= 0 for end in ends)


def lost_its_port(log_text: str) -> bool:
    """Tell whether the server ended because another process had taken its port."""
    return _PORT_TAKEN.search(log_text) is not None or any(map(_not_bound, log_text.split("\n")))


def _not_bound(line: str) -> bool:
    said = _NOT_BOUND.search(line)
    return said is not None and _SOCKET.search(line, said.end()) is not None


def out_of_memory(log_text: str) -> str | None:
    """Say what to do for a server whose log names memory as the reason of its end; ``None``: it does not."""
    if _CARD_FULL.search(log_text) is not None:
        return (
            "Its log says that the card's memory was full: end what else uses the card, shorten the context "
            "(server.ctx), put fewer layers on the card (server.gpu_layers), or measure one server at a time "
            '(measure.isolation = "alternate").'
        )
    if _HOST_FULL.search(log_text) is not None:
        return (
            "Its log says that the machine's memory was full: end other programs, shorten the context (server.ctx), "
            'or measure one server at a time (measure.isolation = "alternate").'
        )
    if _NO_THREAD.search(log_text) is not None:
        return (
            "Its log says that it got no further thread: memory or the number of processes is at its limit; raise it "
            "(ulimit -u, ulimit -v, pids.max of a container), or end other programs."
        )
    return None


def last_words(log_text: str, lines: int = 20) -> str:
    """Return the last lines, and before them the check that failed, where a backtrace follows it.

    What a terminal would obey is replaced, and very long lines are cut.
    """
    whole = log_text.replace("\r\n", "\n").replace("\r", "\n")
    written = [line[:_LINE_SHOWN].translate(_CONTROLS) for line in whole.split("\n")]
    if not written[-1]:
        written.pop()
    last = written[-lines:]
    checks = [line for line in written[:-lines] if _FAILED_CHECK.match(line)]
    return "\n".join([checks[-1], "...", *last] if checks else last)


def logged_memory(log_text: str) -> Footprint | None:
    """Read how much memory the server took, part by part; ``None`` where the log does not say.

    Builds from about b10000 on say it with ``--verbosity 4``. To 0.01 MiB for each buffer.
    """
    # A context may reserve a buffer again, which replaces the first; caches of several kinds add up.
    sizes: dict[tuple[int, str, str], Place] = {}
    for context, kind, buffer, size in _buffers(log_text):
        before = sizes.get((context, kind, buffer), Place()) if kind != "compute" else Place()
        sizes[context, kind, buffer] = before + size
    if not any(kind == "model" for _, kind, _ in sizes):
        return None
    parts: dict[str, Place] = {}
    for (context, kind, _), size in sizes.items():
        part = (_DRAFT_PARTS if context > 1 else _PARTS)[kind]
        parts[part] = parts.get(part, Place()) + size
    nothing = Place()
    return Footprint(
        weights=parts["weights"],
        kv=parts.get("kv", nothing),
        recurrent=parts.get("recurrent", nothing),
        draft_kv=parts.get("draft_kv", nothing),
        compute=parts.get("compute", nothing),
        draft_compute=parts.get("draft_compute", nothing),
    )


def _buffers(log_text: str) -> Iterator[tuple[int, str, str, Place]]:
    """Every buffer that the log names: the number of its context, its kind, where it lies, its size."""
    for context, text in enumerate(log_text.split(_NEW_CONTEXT)):
        for match in _BUFFER.finditer(text):
            before = text[max(0, match.start() - _NAME_REACH) : match.start()].split()
            name = before[-1] if before else ""
            size = round(float(match[2]) * 2**20)
            host = name.startswith(_OF_THE_HOST) or name.endswith("_Host")
            yield context, match[1], name, Place(0, size) if host else Place(size, 0)
