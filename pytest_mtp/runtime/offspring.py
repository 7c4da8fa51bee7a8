"""End whatever a program of ours has started, also when we are killed and can do nothing.

The kernel ends a child with its parent, but not the child's own children, and ninja puts each compiler into a group
of its own: what they all have in common is their session. Run as a program, this file is the guard of a session: it
waits until the other end of its input is closed, and ends the session unless it was told that all is over.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_OVER = b"over"
_FOR_PYTHON = ("LD_LIBRARY_PATH",)
_PROC = Path("/proc")
_PATIENCE_S = 10.0
_PAUSE_S = 0.02
_GONE = b"ZX"  # dead, and kept for whoever will ask how they ended


def end_offspring(leader: int) -> None:
    """Kill every process of the session that ``leader`` began, and what they start meanwhile.

    Where there is no /proc it is the leader's group alone.
    """
    with suppress(ProcessLookupError):  # it ended meanwhile
        os.killpg(leader, signal.SIGKILL)
    deadline = time.monotonic() + _PATIENCE_S
    while (alive := [pid for pid in _pids() if _belongs(pid, leader)]) and time.monotonic() < deadline:
        for pid in alive:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_PAUSE_S)


@contextmanager
def guarded(leader: int) -> Iterator[None]:
    """End the session of ``leader`` if this process ends within the block, by whatever."""
    guard = subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, str(leader)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={name: os.environ[name] for name in _FOR_PYTHON if name in os.environ},
        start_new_session=True,
    )
    try:
        yield
    finally:
        with suppress(BrokenPipeError):
            guard.communicate(_OVER)


def _pids() -> list[int]:
    return [int(one.name) for one in _PROC.iterdir() if one.name.isdecimal()] if _PROC.is_dir() else []


def _belongs(pid: int, leader: int) -> bool:
    """Whether it lives in that session. The name of a program, in brackets, may hold blanks and brackets."""
    try:
        state, _, _, session, *_ = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except (OSError, ValueError):  # it ended meanwhile
        return False
    return int(session) == leader and state not in _GONE


if __name__ == "__main__":
    if sys.stdin.buffer.read() != _OVER:
        end_offspring(int(sys.argv[1]))
