"""A port that a person chose, tried before minutes are spent on what will listen there."""

import os
import socket

from pytest_mtp.errors import SettingsError

_LAST_PORT = 65535


def available_port(host: str, port: int) -> int:
    """Return that port, or a free one for 0; SettingsError where nothing can listen there.

    llama-server would not always say: it can share a port with another llama-server of the same user.
    """
    if not 0 <= port <= _LAST_PORT:
        raise SettingsError(f"Port {port} is none; ports are 1 to {_LAST_PORT}, and 0 takes any free one.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.create_server((host, port), family=family) as probe:
            found: int = probe.getsockname()[1]
    except OSError as error:
        raise SettingsError(
            f"Nothing can listen on port {port} of {host} ({_reason(error.errno)}). "
            "End what has the port, or give another --port (0 takes any free one) or --host."
        ) from error
    return found


def _reason(errno: int | None) -> str:
    """In words; the error's own would repeat host and port. Negative numbers are the resolver's."""
    return os.strerror(errno) if errno and errno > 0 else "this host has no address here"
