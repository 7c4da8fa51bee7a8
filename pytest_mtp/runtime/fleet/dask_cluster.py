"""Cells on a Dask cluster: one worker per box, its cards as abstract resources, one cell per card at once."""

import ipaddress
import re
import socket
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mtp.core.fleet.cell import Cell, CellResult
from pytest_mtp.core.fleet.manifest import absent
from pytest_mtp.core.fleet.placement import capacity_of
from pytest_mtp.errors import FleetError, SettingsError
from pytest_mtp.runtime.fleet.cell_run import run_cell
from pytest_mtp.runtime.fleet.dask_scheduler import claimed, doors
from pytest_mtp.runtime.fleet.dask_shift import Patience, Shift, boxes_of
from pytest_mtp.runtime.fleet.protocol import Heard

if TYPE_CHECKING:
    from distributed import Client
    from distributed.security import Security

_ADDRESS = re.compile(r"(?P<scheme>tcp|tls)://(?:\[(?P<six>[0-9A-Fa-f:]+)]|(?P<host>[^:/\[\]]+)):(?P<port>\d+)")
_KNOCK_S = 2.0
_ASK_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificates:
    """What both sides of every connection show each other: PEM files."""

    ca: Path
    """Whoever shows a certificate of this authority may run code on every box."""
    certificate: Path
    key: Path

    def __post_init__(self) -> None:
        for path in (self.ca, self.certificate, self.key):
            if not path.is_file():
                raise SettingsError(f"There is no certificate file {path}; docs/fleet.md says how to make one.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DaskCluster:
    """The executor for a cluster whose scheduler runs already.

    A box is a ``dask worker`` with ``--resources RTX_3090=1``; a blank of a kind is written as ``_``.
    """

    address: str
    """Of the scheduler, such as ``tls://controller:8786``."""
    run_name: str = ""
    """Tells this run's cells from those of other nights: the id of the manifest."""
    certificates: Certificates | None = None
    patience: Patience = field(default_factory=Patience)
    act: Callable[[str], str] = run_cell
    """What the boxes call, importable there: JSON of a cell in, JSON of its result out."""

    connect_s: float = 30.0
    """How long is waited for the scheduler, and for it to notice that an earlier controller is dead."""

    def __post_init__(self) -> None:
        _check(self.address, self.certificates)

    def capacity(self) -> Mapping[str, int]:
        """What the boxes of this moment offer; FleetError where the scheduler does not answer."""
        with self._client() as client:
            return capacity_of(boxes_of(client))

    def run(self, cells: Sequence[Cell], heard: Heard) -> Iterator[CellResult]:
        """Run them; SettingsError, before any is sent, for a kind that no box has and while another controller does.

        What a controller that was killed had sent goes on meanwhile, and its results are taken up here.
        """
        with self._client() as client:
            self._claim(client)
            there = capacity_of(boxes_of(client))
            lacking = absent(cells, there)
            if lacking:
                raise SettingsError(
                    f"No box of {self.address} is of kind {lacking[0].kind} (there is {', '.join(there) or 'none'}), "
                    "so nothing was run. Start a worker of it, or leave out its cells."
                )
            try:
                yield from Shift(client, self.act, self.run_name, self.patience, heard).results(cells)
            except OSError as error:
                raise FleetError(
                    f"The scheduler at {self.address} went away: {error!s:.300}. Start it again, then run this again: "
                    "what is over is kept."
                ) from error

    @contextmanager
    def _client(self) -> "Iterator[Client]":
        dask = _dask()
        with dask.config.set({"distributed.comm.timeouts.connect": self.connect_s}), self._connected() as client:
            for door in self._doors(client):
                _check_door(door)
                _check_bound(door)
            yield client

    def _claim(self, client: "Client") -> None:
        """SettingsError while another controller has this run: each would take up, and end, what the other sent."""
        deadline = time.monotonic() + self.connect_s
        while not client.run_on_scheduler(claimed, self.run_name, client.id):
            if time.monotonic() > deadline:
                raise SettingsError(
                    f"Another controller runs this manifest on {self.address}: wait for it or end it, or plan anew. "
                    "One whose machine is gone is forgotten within some minutes."
                )
            time.sleep(_ASK_S)

    def _doors(self, client: "Client") -> Sequence[str]:
        try:
            return list(client.run_on_scheduler(doors))
        except ImportError as error:
            raise FleetError(
                f"The scheduler at {self.address} lacks what is asked of it: {error!s:.300}. Install this pytest-mtp "
                "there too, and on every box."
            ) from error

    def _connected(self) -> "Client":
        from distributed import Client
        from distributed.versions import VersionMismatchWarning

        with warnings.catch_warnings():
            # Boxes of another Python are welcome: what is sent is a name and a text.
            warnings.simplefilter("ignore", VersionMismatchWarning)
            try:
                return Client(self.address, security=self._security(), timeout=self.connect_s, set_as_default=False)
            except (OSError, ValueError, TypeError, RuntimeError) as error:
                raise FleetError(
                    f"No scheduler answers at {self.address}: {error!s:.300}. Start one with `dask scheduler`; with "
                    "TLS, give it certificates of the same authority."
                ) from error

    def _security(self) -> "Security | None":
        from distributed.security import Security

        held = self.certificates
        if held is None:
            return None
        return Security(
            tls_ca_file=str(held.ca),
            tls_client_cert=str(held.certificate),
            tls_client_key=str(held.key),
            require_encryption=True,
        )


def _check(address: str, certificates: Certificates | None) -> None:
    """SettingsError for what is no address, and for one that would let strangers run code on the boxes."""
    if _ADDRESS.fullmatch(address) is None:
        raise SettingsError(f"{address!r:.200} is no scheduler; write tls://HOST:PORT, or tcp://127.0.0.1:PORT.")
    encrypted = address.startswith("tls:")
    if encrypted and certificates is None:
        raise SettingsError(f"{address} wants certificates: give --tls-ca, --tls-cert and --tls-key.")
    if certificates is not None and not encrypted:
        raise SettingsError(f"{address} would not use the certificates: write tls:// in the place of tcp://.")
    _check_door(address)


def _check_door(address: str) -> None:
    """SettingsError where others than this machine come in without a certificate."""
    found = _ADDRESS.fullmatch(address)
    if found is not None and found["scheme"] == "tls":
        return
    if found is None or not _loopback(found["six"] or found["host"]):
        raise SettingsError(
            f"{address} is open: without TLS, whoever reaches that port runs code on every box. Start scheduler and "
            "workers with certificates (docs/fleet.md says how), and give --tls-ca, --tls-cert and --tls-key."
        )


def _check_bound(door: str) -> None:
    """SettingsError where what says that it is on loopback answers on this machine's other addresses too."""
    found = _ADDRESS.fullmatch(door)
    if found is None or found["scheme"] == "tls":
        return
    for host in _own_addresses():
        with suppress(OSError), socket.create_connection((host, int(found["port"])), timeout=_KNOCK_S):
            raise SettingsError(
                f"{door} listens on {host} as well, without TLS: whoever reaches that port runs code here. Start that "
                "`dask worker` or `dask scheduler` with --host 127.0.0.1, or all of them with certificates."
            )


def _own_addresses() -> list[str]:
    """Where other machines reach this one."""
    import psutil

    families = {socket.AF_INET, socket.AF_INET6}
    told = [one for cards in psutil.net_if_addrs().values() for one in cards if one.family in families]
    return [one.address for one in told if not _loopback(one.address.partition("%")[0])]


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _dask() -> Any:
    try:
        import dask.config
        import distributed  # noqa: F401 - Dask may be there without it
    except ImportError as error:
        raise SettingsError("The executor dask needs Dask: pip install 'pytest-mtp[fleet]'.") from error
    return dask
