"""What a test left running."""

import psutil

_OF_PYTHON = "multiprocessing"
"""The fork server and the resource tracker, which other tests had started, live until pytest ends."""


def children() -> list[psutil.Process]:
    """The processes that this one, or a child of it, started, without Python's own."""
    return [one for one in psutil.Process().children(recursive=True) if _OF_PYTHON not in " ".join(_words(one))]


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
