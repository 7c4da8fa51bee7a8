"""The request for a pod, as RunPod's REST API v2 takes it."""

import re
from dataclasses import dataclass
from typing import Any

from pytest_mtp.core.runpod.guard import start_command
from pytest_mtp.core.runpod.offer import Cloud
from pytest_mtp.core.secret import masked
from pytest_mtp.errors import SettingsError

IMAGE = "runpod/base:1.0.7-cuda1281-ubuntu2404"
"""CUDA 12.8 with its compiler, CMake, git, sshd, rsync and uv; without ninja and ccache."""
CUDA = "12.8"
WORKSPACE = "/workspace"
"""Where the image keeps what is downloaded, so where the volume belongs."""
_SECRET = re.compile(r"[A-Za-z0-9_]{1,64}")
_LEAST_VOLUME_GB = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is asked for, but for the card and the hours; made valid, or SettingsError."""

    cloud: Cloud = Cloud.SECURE
    image: str = IMAGE
    min_cuda: str | None = CUDA
    disk_gb: int = 40
    volume_gb: int = 100
    """Of a disk that ends with the pod; not used with ``volume``."""
    volume: str | None = None
    """Identifier of a network volume, which stays."""
    data_centers: tuple[str, ...] = ()
    hf_secret: str | None = None
    """The name of the RunPod secret that holds a token of the hub; never the token."""

    def __post_init__(self) -> None:
        """Refuse what RunPod would, and a token in the place of a name."""
        if self.hf_secret is not None:
            _check_secret(self.hf_secret)
        if self.disk_gb < 1 or self.volume_gb < _LEAST_VOLUME_GB:
            raise SettingsError(f"Give --disk of at least 1 GB and --volume-gb of at least {_LEAST_VOLUME_GB} GB.")
        if self.min_cuda is not None and not re.fullmatch(r"\d+\.\d+", self.min_cuda):
            raise SettingsError(f"--min-cuda {self.min_cuda} is no version such as {CUDA}.")

    @property
    def paid_gb(self) -> int:
        """The disks that are paid with the pod; a network volume is paid with or without it."""
        return self.disk_gb + (0 if self.volume is not None else self.volume_gb)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenancy:
    """What differs from one request to the next."""

    name: str
    gpu: str
    public_key: str
    """Of a pair made for this pod alone, so that the account's own keys are left as they are."""
    api: str
    until: int
    """Seconds since 1970 at which the pod must be gone."""
    seconds: int
    """How long it may be there at most, if its clock is wrong."""


def body(order: Order, tenancy: Tenancy) -> dict[str, Any]:
    """The body of ``POST /v2/pods``."""
    cuda = {} if order.min_cuda is None else {"minCudaVersion": order.min_cuda}
    places = {"dataCenterIds": list(order.data_centers)} if order.data_centers else {}
    return {
        "name": tenancy.name,
        "image": order.image,
        "args": start_command(tenancy.api, tenancy.until, tenancy.seconds),
        "cloud": order.cloud.value,
        "gpu": {"id": tenancy.gpu, "count": 1, **cuda},
        "disk": order.disk_gb,
        "mounts": _mounts(order),
        "ports": ["22/tcp"],
        "env": _environment(order, tenancy),
        "startSsh": True,
        **places,
    }


def _mounts(order: Order) -> dict[str, Any]:
    if order.volume is not None:
        return {"network": [{"volumeId": order.volume, "path": WORKSPACE}]}
    return {"persistent": {"size": order.volume_gb, "path": WORKSPACE}}


def _environment(order: Order, tenancy: Tenancy) -> dict[str, str]:
    token = {} if order.hf_secret is None else {"HF_TOKEN": f"{{{{ RUNPOD_SECRET_{order.hf_secret} }}}}"}
    return {"PUBLIC_KEY": tenancy.public_key, **token}


def _check_secret(name: str) -> None:
    if masked(name) != name:
        raise SettingsError(
            "--hf-secret takes the name of a RunPod secret, and was given what looks like a token. Make the secret in "
            "RunPod's console, give its name, and revoke the token: the shell's history has it now."
        )
    if not _SECRET.fullmatch(name):
        raise SettingsError("--hf-secret takes the name of a RunPod secret: letters, digits and underscores.")
