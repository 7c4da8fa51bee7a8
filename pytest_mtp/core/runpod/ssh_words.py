"""The command lines of ssh and rsync: into one pod, with the pod's own key, and past the user's configuration."""

import shlex
from dataclasses import dataclass

from pytest_mtp.core.runpod.pod import Door

_SILENCE_S = 15
_SILENCES = 4
_LARGEST = "512m"


@dataclass(frozen=True, slots=True)
class Way:
    """How a pod is entered."""

    door: Door
    key: str
    """Path of the private key that was made for this pod."""
    known_hosts: str
    """Path of a file of its own: the next pod at this address has another host key."""

    @property
    def _options(self) -> tuple[str, ...]:
        # No agent, no forwarding, no file of the user's: a key offered to a rented machine is a key shown.
        settings = (
            "BatchMode=yes",
            "IdentitiesOnly=yes",
            "IdentityAgent=none",
            "ForwardAgent=no",
            "StrictHostKeyChecking=accept-new",
            f"UserKnownHostsFile={self.known_hosts}",
            "GlobalKnownHostsFile=/dev/null",
            "UpdateHostKeys=no",
            "ConnectTimeout=15",
            f"ServerAliveInterval={_SILENCE_S}",
            f"ServerAliveCountMax={_SILENCES}",
            "LogLevel=ERROR",
        )
        chosen = tuple(word for one in settings for word in ("-o", one))
        return ("ssh", "-F", "/dev/null", "-i", self.key, "-p", str(self.door.port), *chosen)

    @property
    def _host(self) -> str:
        return f"{self.door.username}@{self.door.host}"

    def command(self, words: str) -> tuple[str, ...]:
        """Run shell words in the pod."""
        return (*self._options, self._host, words)

    def tunnel(self, local_port: int, port: int) -> tuple[str, ...]:
        """Let a port of this machine's loopback be one of the pod's."""
        forward = f"127.0.0.1:{local_port}:127.0.0.1:{port}"
        return (*self._options, "-o", "ExitOnForwardFailure=yes", "-N", "-L", forward, self._host)

    def person(self) -> str:
        """The line that a person types."""
        files = f"-o UserKnownHostsFile={shlex.quote(self.known_hosts)} -o IdentitiesOnly=yes"
        return f"ssh -i {shlex.quote(self.key)} {files} -p {self.door.port} {self._host}"

    def send(self, path: str, to: str) -> tuple[str, ...]:
        """Copy a file into the pod."""
        return (*self._rsync, "--", path, f"{self._remote}:{to}")

    def fetch(self, folder: str, to: str) -> tuple[str, ...]:
        """Copy what lies in a folder of the pod: plain files, since a link could lead anywhere here."""
        return (*self._rsync, "-r", f"--max-size={_LARGEST}", "--", f"{self._remote}:{folder}/", f"{to}/")

    @property
    def _rsync(self) -> tuple[str, ...]:
        return ("rsync", "-t", "--protect-args", "--timeout=60", "-e", shlex.join(self._options))

    @property
    def _remote(self) -> str:
        host = f"[{self.door.host}]" if ":" in self.door.host else self.door.host
        return f"{self.door.username}@{host}"
