"""How a server process is started, stopped and read back.

Its output goes to a file, never to a pipe: a pipe that nobody reads stops
the server once it is full.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_mtp.core.server_log import last_words
from pytest_mtp.errors import ServerDied, ServerLate
from pytest_mtp.runtime.child import child_environment, die_with_parent

# No LLAMA_ARG_*: one of them can make the plain arm draft, and no flag undoes it. No tokens either.
ACCELERATOR_VARIABLES = ("GGML_*", "CUDA_*", "HIP_*", "ROCR_*", "NVIDIA_*")
_PASSED = (*ACCELERATOR_VARIABLES, "LD_LIBRARY_PATH", "PATH", "HOME", "LANG", "LC_*", "TMPDIR")

_TAIL_BYTES = 32 * 1024
_LIBRARY_MISSING = 127
_BY_SIGNAL = 128
"""What bubblewrap and shells add to the number of the signal that ended what they ran."""
_LAST_SIGNAL = 64
_LEAST_PATIENCE_S = 1.0

_ADVICE = {
    signal.SIGILL: (
        "the binary uses instructions this CPU does not have; rebuild with GGML_NATIVE=OFF and the instruction sets "
        "of this CPU named (GGML_AVX2=ON and so on)"
    ),
    signal.SIGKILL: "another process killed it; on Linux this is most often the kernel, out of memory",
    signal.SIGSEGV: "it read memory that is not its own; a model file that lacks a tensor does this",
    signal.SIGABRT: "it gave up on an internal check, which its log names",
    signal.SIGBUS: "memory or a mapped file went away; check the disk and that the model file is whole",
}


def accelerator_environment() -> dict[str, str]:
    """Return what can change a server's speed, empty variables included: a circumstance of the measurement."""
    return child_environment(ACCELERATOR_VARIABLES)


def server_environment() -> dict[str, str]:
    """Return the variables that a llama-server may see: an allow-list, so that no flag or secret slips in."""
    return child_environment(_PASSED)


def spawn(argv: Sequence[str], log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start the command in a session of its own, with all its output in ``log``; it ends when we do.

    Call it from the main thread: the kernel ties the child to the thread that started it.
    """
    with log.open("wb") as output:
        try:
            return subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - a loaded prctl is safe between fork and exec
            )
        except OSError as error:
            raise ServerDied(not_startable(argv[0], error)) from error


def not_startable(binary: str, error: OSError) -> str:
    """Say why a binary could not even be started."""
    return f"{binary} cannot be started: {error.strerror}. Check that it is an executable for this machine."


def stop(process: subprocess.Popen[bytes], grace_s: float = 10.0) -> None:
    """End the process and its whole group, and reap it; safe when it has already ended.

    ServerLate where even SIGKILL does not end it: that is so while it hangs in the kernel, most often in a driver.
    """
    # A server with a request in flight takes the first SIGTERM and never ends; the second one ends it.
    for number, patience_s in ((signal.SIGTERM, grace_s), (signal.SIGTERM, grace_s / 2)):
        if process.poll() is not None:
            break
        _signal_group(process, number)
        _signal_group(process, signal.SIGCONT)  # a halted one would not listen
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)
    # Also when the process is gone: what it started would outlive it.
    _signal_group(process, signal.SIGKILL)
    try:
        process.wait(max(grace_s, _LEAST_PATIENCE_S))
    except subprocess.TimeoutExpired as error:
        raise ServerLate(
            f"Process {process.pid} does not end, not even by SIGKILL: it hangs in the kernel, most often in the "
            "driver of a card. Measure no more before it is gone (see dmesg; a reboot helps where nothing else does)."
        ) from error


def stop_all(process: subprocess.Popen[bytes], grace_s: float = 10.0) -> None:
    """End what the process runs for us, then itself; back when nothing of it is left, also on the cards."""
    import psutil

    with contextlib.suppress(psutil.NoSuchProcess):
        inside = psutil.Process(process.pid).children(recursive=True)
        for one in inside:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.terminate()
        psutil.wait_procs(inside, timeout=grace_s)
        stop(process, grace_s)
        psutil.wait_procs(inside, timeout=grace_s)
    stop(process, grace_s)


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    # The group carries the leader's pid, which the kernel does not give away while a member lives.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def tail(log: Path, lines: int = 20) -> str:
    """Read the last lines of a log, led by a failed check; empty without a log. Only its end is read."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    return last_words(text, lines)


def describe_exit(returncode: int) -> str:
    """Say how a process ended, and what that usually means."""
    if returncode == _LIBRARY_MISSING:
        return "ended with exit status 127 (a shared library or the interpreter is missing; see LD_LIBRARY_PATH)"
    if _BY_SIGNAL < returncode <= _BY_SIGNAL + _LAST_SIGNAL:
        returncode = _BY_SIGNAL - returncode
    if returncode >= 0:
        return f"ended with exit status {returncode}"
    try:
        number = signal.Signals(-returncode)
    except ValueError:
        return f"died of signal {-returncode}"
    advice = _ADVICE.get(number)
    return f"died of {number.name} ({advice})" if advice else f"died of {number.name}"
