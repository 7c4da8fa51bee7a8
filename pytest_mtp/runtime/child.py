"""How child processes are started: what they see of our environment, and when they must end."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType

from pytest_mtp.core.secret import holds_login, is_secret
from pytest_mtp.runtime.offspring import end_offspring, guarded

_PR_SET_PDEATHSIG = 1

# Loaded now: loading a library between fork and exec can deadlock.
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None

_forking_pid = os.getpid()


def _note_forking_pid() -> None:
    """Remember who is about to fork, so that the child can tell whether that process still lives."""
    global _forking_pid  # noqa: PLW0603 - a preexec function takes no argument that could carry it
    _forking_pid = os.getpid()


os.register_at_fork(before=_note_forking_pid)


def die_with_parent() -> None:
    """As ``preexec_fn``: have the kernel kill this child when the thread that started it ends.

    Linux only; elsewhere it does nothing. The child's own children do not inherit it.
    """
    if _LIBC is None:
        return
    _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != _forking_pid:  # the parent died before the kernel was told
        os.kill(os.getpid(), signal.SIGKILL)


def child_environment(allowed: Iterable[str], extra: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """Keep the variables of this process whose names match one of the ``fnmatch`` patterns; add ``extra``.

    What holds a login, such as the address of a proxy, is left out also when its name matches.
    """
    kept = _allowed(allowed)
    return {name: value for name, value in kept.items() if not holds_login(name, value)} | dict(extra)


def trusted_environment(allowed: Iterable[str], extra: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """The same with logins to proxies and package indexes: for git and pip, which run nobody's code here."""
    return _allowed(allowed) | dict(extra)


def _allowed(allowed: Iterable[str]) -> dict[str, str]:
    """What matches, without whatever is called like a key."""
    patterns = tuple(allowed)
    kept = {name for name in os.environ if any(fnmatchcase(name, one) for one in patterns)}
    return {name: os.environ[name] for name in sorted(kept) if not is_secret(name, os.environ[name])}


@dataclass(frozen=True, slots=True)
class Finished:
    """A child that has ended; ``returncode`` is negative when a signal ended it."""

    returncode: int
    stdout: str
    stderr: str


def ending(returncode: int) -> str:
    """How a process ended, as the end of a sentence: ``was ended by SIGILL`` or ``ended with status 2``."""
    if returncode >= 0:
        return f"ended with status {returncode}"
    try:
        return f"was ended by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was ended by signal {-returncode}"


def run_text(
    command: Sequence[str], env: Mapping[str, str], cwd: Path | None = None, timeout_s: float | None = None
) -> Finished:
    """Run to the end and keep what it wrote; ``subprocess.TimeoutExpired`` past ``timeout_s``."""
    with _started(command, env, cwd, stderr=subprocess.PIPE) as child:
        stdout, stderr = child.communicate(timeout=timeout_s)
    return Finished(child.returncode, stdout, stderr)


def run_logged(
    command: Sequence[str], env: Mapping[str, str], cwd: Path, log: Path, on_line: Callable[[str], None]
) -> int:
    """Run to the end; every line of output is appended to ``log`` and given to ``on_line``.

    What the program has started itself, such as compilers, ends with us too.
    """
    with (
        log.open("a", encoding="utf-8") as file,
        _started(command, env, cwd, stderr=subprocess.STDOUT) as child,
        guarded(child.pid),
    ):
        for line in child.stdout or ():
            file.write(line)
            file.flush()
            on_line(line.rstrip("\n"))
        return child.wait()


@contextmanager
def _started(
    command: Sequence[str], env: Mapping[str, str], cwd: Path | None, *, stderr: int
) -> Iterator[subprocess.Popen[str]]:
    """Start a child in a session of its own, without a terminal; an exception ends its whole session."""
    child = subprocess.Popen(
        list(command),
        env=dict(env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
        preexec_fn=die_with_parent,  # noqa: PLW1509 - a loaded prctl is safe between fork and exec
    )
    with child:
        try:
            yield child
        except BaseException:  # Ctrl-C does not reach another session, so it is passed on here
            end_offspring(child.pid)
            raise
