"""A real sshd on loopback that lets one key in, as that of a pod does; skipped where this machine has none."""

import getpass
import os
import shlex
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

_PATIENCE_S = 30.0
_PROGRAMS = ("ssh", "ssh-keygen", "rsync")
_OF_THE_POD = (
    "bash", "cat", "chmod", "cp", "curl", "date", "dirname", "env", "head", "mkdir", "mv", "python3", "rm", "rsync",
    "setsid", "sh", "sleep", "tail", "touch",
)  # fmt: skip
"""What an image has of all that may be on this machine, so that ninja and ccache lack there."""


@dataclass(frozen=True)
class Sshd:
    """Where it listens, and the file of keys that it lets in."""

    door: tuple[str, int, str]
    authorized: Path
    programs: Path
    """The folder that is the PATH of who enters."""

    def program(self, name: str, script: str) -> None:
        """Put a program of the pod's there."""
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)


@contextmanager
def serve_ssh(folder: Path) -> Iterator[Sshd]:
    """Listen until the block ends."""
    program = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    lacking = [name for name in _PROGRAMS if shutil.which(name) is None]
    if program is None or lacking:
        pytest.skip(f"no {' or '.join([*lacking, *([] if program else ['sshd'])])} on this machine")
    made = _files(folder)
    words = [program, "-D", "-e", "-f", str(folder / "sshd_config")]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as sshd:
        listening = threading.Event()
        said: list[str] = []
        reader = threading.Thread(target=_read, args=(sshd, said, listening))
        reader.start()
        try:
            assert listening.wait(_PATIENCE_S), "".join(said)
            assert sshd.poll() is None, "".join(said)
            yield made
        finally:
            sshd.terminate()
            sshd.wait()
            reader.join()


def _files(folder: Path) -> Sshd:
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # else it does not start as root
    programs = folder / "programs"
    programs.mkdir(parents=True)
    for name in _OF_THE_POD:
        if found := shutil.which(name):
            (programs / name).symlink_to(found)
    key = folder / "host_key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    authorized = folder / "authorized_keys"
    authorized.touch(mode=0o600)
    settings = {
        "ListenAddress": f"127.0.0.1:{port}",
        "HostKey": key,
        "AuthorizedKeysFile": authorized,
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "PasswordAuthentication": "no",
        "KbdInteractiveAuthentication": "no",
        "PermitRootLogin": "prohibit-password",
        "MaxStartups": "100",
        "SetEnv": shlex.quote(f"PATH={programs}"),
    }
    (folder / "sshd_config").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    return Sshd(("127.0.0.1", port, getpass.getuser()), authorized, programs)


def _read(sshd: subprocess.Popen[str], said: list[str], listening: threading.Event) -> None:
    assert sshd.stderr is not None
    for line in sshd.stderr:
        said.append(line)
        if line.startswith("Server listening"):
            listening.set()
    listening.set()
