"""What a llama-server binary offers, asked of the binary itself."""

import subprocess
from pathlib import Path

from pytest_mtp.core.capabilities import Capabilities, parse_help
from pytest_mtp.errors import InputError, ServerDied, ServerLate
from pytest_mtp.runtime.process import describe_exit, not_startable, server_environment
from pytest_mtp.runtime.sandbox import Sandbox, run_confined

_LINES = 20


def probe(
    binary: Path, *, known_by: str = "--port", timeout_s: float = 60.0, sandbox: Sandbox | None = None
) -> Capabilities:
    """Run ``--help`` and read it; the first run of a CUDA binary takes seconds, for its libraries.

    ``known_by`` is an option that such a program has, so that another program's help is refused.
    """
    argv = (str(binary), "--help")
    try:
        done = run_confined(sandbox, argv, server_environment(), timeout_s)
    except OSError as error:
        raise ServerDied(not_startable(str(binary), error)) from error
    except subprocess.TimeoutExpired as error:
        message = f"{binary} --help did not end within {timeout_s:g} s. Check the binary and the GPU driver by hand."
        raise ServerLate(message) from error
    if done.returncode != 0:
        last = "\n".join((done.stderr or done.stdout).splitlines()[-_LINES:])
        message = f"{binary.name} {describe_exit(done.returncode)} when it was asked for its --help."
        raise ServerDied(message, command=" ".join(argv), log_tail=last)
    try:
        return parse_help(done.stdout, known_by=known_by)
    except InputError as error:
        raise InputError(f"{binary}: {error}") from error
