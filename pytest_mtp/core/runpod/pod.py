"""What the API says of a pod, as far as it is used, and which pods are ours and too old."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from pytest_mtp.errors import RentalError

PREFIX = "mtp-"
"""What the name of every pod of ours begins with, by which a sweep finds them."""
RUNNING = "RUNNING"
DEAD = frozenset({"EXITED", "ERROR", "TERMINATED"})
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:-]{0,252}")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}")
_LAST_PORT = 65535


@dataclass(frozen=True, slots=True)
class Door:
    """Where a pod's own sshd listens."""

    host: str
    port: int
    username: str = "root"

    def __post_init__(self) -> None:
        """Refuse what would be an option or a command in the place of a host."""
        known = _HOST.fullmatch(self.host) and _USER.fullmatch(self.username) and 0 < self.port <= _LAST_PORT
        if not known:
            raise ValueError("no host, port and user of an SSH server")


@dataclass(frozen=True, slots=True)
class Ssh:
    """The ways in; only ``direct`` carries files and tunnels."""

    direct: Door | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod, with the names that the API has for its facts."""

    id: str
    name: str
    status: str = ""
    cost: float | None = None
    """USD per hour, as billed now."""
    ssh: Ssh | None = None
    dataCenterId: str | None = None
    createdAt: str | None = None

    def __post_init__(self) -> None:
        """Refuse an identifier that would be another address."""
        if not _ID.fullmatch(self.id):
            raise ValueError("no identifier of a pod")

    @property
    def door(self) -> Door | None:
        """Where it can be entered; ``None`` before it is up."""
        return self.ssh.direct if self.ssh is not None else None

    @property
    def ready(self) -> bool:
        """Whether it runs and can be entered."""
        return self.status == RUNNING and self.door is not None

    def check_alive(self) -> None:
        """RentalError where it has ended by itself."""
        if self.status in DEAD:
            raise RentalError(f"Pod {self.id} ({self.name}) is {self.status} before it was used; its host failed it.")


@dataclass(frozen=True, slots=True)
class PodList:
    """What the list of pods answers."""

    pods: tuple[Pod, ...]


def ours(pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """Those whose names say that this package made them."""
    return tuple(pod for pod in pods if pod.name.startswith(PREFIX))


def stale(pods: Iterable[Pod], now: datetime, hours: float) -> tuple[Pod, ...]:
    """Those of ours that are older; one that does not tell its age counts as older, since it costs as well."""
    return tuple(pod for pod in ours(pods) if (age := age_h(pod, now)) is None or age > hours)


def age_h(pod: Pod, now: datetime) -> float | None:
    """Hours since it was made; ``None`` where it does not say."""
    try:
        made = datetime.fromisoformat(pod.createdAt or "")
    except ValueError:
        return None
    return (now - (made if made.tzinfo else made.replace(tzinfo=UTC))).total_seconds() / 3600


def left_behind(name: str, ids: Iterable[str], why: str, api: str) -> str:
    """The message of a pod that could not be deleted."""
    known = tuple(ids)
    named = " and ".join(known) if known else "of unknown identifier"
    by_hand = "\n".join(
        f'  printf "Authorization: Bearer %s" "$RUNPOD_API_KEY" | curl -X DELETE -H @- {api}/v2/pods/{one}'
        for one in known
    )
    return (
        f"POD {named} ({name}) MAY STILL RUN AND COST MONEY: {why}\n"
        f"Delete it now with one of:\n  pytest-mtp runpod down {name}\n"
        f"{by_hand}{chr(10) if by_hand else ''}  RunPod's console, under Pods\n"
        "A guard inside the pod deletes it when its hours are over, if RunPod lets it."
    )
