"""What a rented machine is to us: an account at the peer, and a real sshd with the programs that a pod's image has."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pytest_mtp.runtime.offspring import end_offspring
from tests.fakes.runpod import FakePod, RunPod
from tests.fakes.sshd import Sshd, serve_ssh

HF_TOKEN = "hf_CANARY5e1fb07c5e1fb07c5e1fb07c"
"""What the account's secret holds; the pod finds it in its environment, and nobody else anywhere."""

_UV = """
case $1 in
  venv) mkdir -p venv/bin; printf '#!/bin/sh\\nexec {python} "$@"\\n' > venv/bin/python; chmod +x venv/bin/python ;;
  pip) env > uv.env; echo "$*" > uv.words ;;
esac
"""
_APT = 'echo "$*" >> "$(dirname "$0")/apt.words"; touch "$(dirname "$0")/ninja" "$(dirname "$0")/ccache"; '


@dataclass(frozen=True)
class Machine:
    """The machine behind every pod of the peer."""

    sshd: Sshd
    folder: Path
    """Where a job works."""
    environ: Path
    """What the container's first process has as its variables."""

    def end_job(self) -> None:
        """End what a pod that is gone would no longer run: here the machine stays."""
        pid = self.folder / "pid"
        if pid.exists():
            end_offspring(int(pid.read_text()))


@contextmanager
def serve_machine(peer: RunPod, folder: Path) -> Iterator[Machine]:
    """Let every pod that is made from now on be this machine."""
    with serve_ssh(folder / "ssh") as sshd:
        sshd.program("uv", _UV.format(python=shlex.quote(sys.executable)))
        sshd.program("apt-get", _APT + 'chmod +x "$(dirname "$0")/ninja" "$(dirname "$0")/ccache"')
        machine = Machine(sshd, folder / "mtp", folder / "environ")
        peer.door = sshd.door

        def moved_in(pod: FakePod) -> None:
            variables = {"RUNPOD_POD_ID": pod.id, "RUNPOD_API_KEY": pod.own_key, "RUNPOD_DC_ID": "US-KS-2"}
            asked = pod.body.get("env", {})
            sshd.authorized.write_text(f"{asked.get('PUBLIC_KEY', '')}\n")
            token = {"HF_TOKEN": HF_TOKEN} if "HF_TOKEN" in asked else {}
            pairs = (f"{name}={value}\0" for name, value in (variables | token).items())
            machine.environ.write_text("".join(pairs))

        peer.on_create = moved_in
        try:
            yield machine
        finally:
            machine.end_job()
