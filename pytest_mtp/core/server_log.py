"""The few facts that only a server's log tells."""

import re
from collections.abc import Iterator

from pytest_mtp.core.footprint import Footprint, Place

_OFFLOADED = re.compile(r"offloaded (\d+)/(\d+) layers to GPU")
# "file.cpp:12: GGML_ASSERT(...) failed", as printed before a backtrace that may be longer than any excerpt.
_FAILED_CHECK = re.compile(r"^\S+\.(?:c|cc|cpp|cu|cuh|h|hpp|m|mm):\d+: ")
_BUFFER = re.compile(r"^.*?(\S+) +(model|KV|RS|compute) buffer size = *([\d.]+) MiB", re.MULTILINE)
_OF_THE_HOST = ("CPU", "AMX")
_NEW_CONTEXT = "constructing llama_context"
_PARTS = {"model": "weights", "KV": "kv", "RS": "recurrent", "compute": "compute"}
_DRAFT_PARTS = _PARTS | {"KV": "draft_kv", "compute": "draft_compute"}
_DEBUG = re.compile(r": build .* \(debug\)$", re.MULTILINE)
_LOST_PORT = re.compile(r"couldn't bind\b.*\bsocket|address already in use", re.IGNORECASE)


def offloaded_layers(log_text: str) -> tuple[int, int] | None:
    """Read layers on the GPU and layers in all; ``None`` where the log does not say (a CPU build)."""
    # The first line is the model's own; a draft model, loaded after it, prints another.
    match = _OFFLOADED.search(log_text)
    return match and (int(match[1]), int(match[2]))


def debug_build(log_text: str) -> bool:
    """Tell whether the server says that it was compiled without optimization; builds say it with ``--verbosity 4``."""
    return _DEBUG.search(log_text) is not None


def lost_its_port(log_text: str) -> bool:
    """Tell whether the server ended because another process had taken its port."""
    return _LOST_PORT.search(log_text) is not None


def last_words(log_text: str, lines: int = 20) -> str:
    """Return the last lines, and before them the check that failed, where a backtrace follows it."""
    written = log_text.splitlines()
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
            size = round(float(match[3]) * 2**20)
            host = match[1].startswith(_OF_THE_HOST) or match[1].endswith("_Host")
            yield context, match[2], match[1], Place(0, size) if host else Place(size, 0)
