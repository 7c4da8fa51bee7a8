"""The few facts that only a server's log tells."""

import re

_OFFLOADED = re.compile(r"offloaded (\d+)/(\d+) layers to GPU")
# "file.cpp:12: GGML_ASSERT(...) failed", as printed before a backtrace that may be longer than any excerpt.
_FAILED_CHECK = re.compile(r"^\S+\.(?:c|cc|cpp|cu|cuh|h|hpp|m|mm):\d+: ")
_LOST_PORT = re.compile(r"couldn't bind\b.*\bsocket|address already in use", re.IGNORECASE)


def offloaded_layers(log_text: str) -> tuple[int, int] | None:
    """Read layers on the GPU and layers in all; ``None`` where the log does not say (a CPU build)."""
    # The first line is the model's own; a draft model, loaded after it, prints another.
    match = _OFFLOADED.search(log_text)
    return match and (int(match[1]), int(match[2]))


def lost_its_port(log_text: str) -> bool:
    """Tell whether the server ended because another process had taken its port."""
    return _LOST_PORT.search(log_text) is not None


def last_words(log_text: str, lines: int = 20) -> str:
    """Return the last lines, and before them the check that failed, where a backtrace follows it."""
    written = log_text.splitlines()
    last = written[-lines:]
    checks = [line for line in written[:-lines] if _FAILED_CHECK.match(line)]
    return "\n".join([checks[-1], "...", *last] if checks else last)
