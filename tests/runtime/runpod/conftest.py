"""What the tests of rented pods share."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from pytest_mtp.core.runpod.budget import Budget
from pytest_mtp.core.runpod.offer import Offer
from pytest_mtp.core.runpod.order import Order
from pytest_mtp.core.secret import Secret
from pytest_mtp.runtime.runpod.api import Api
from pytest_mtp.runtime.runpod.lease import Lease, leased
from pytest_mtp.runtime.runpod.pace import Pace
from pytest_mtp.runtime.runpod.records import Records
from tests.fakes.rented import Machine, serve_machine
from tests.fakes.runpod import KEY, RunPod, serve_runpod

QUICK = Pace(waits_s=(0.0, 0.0), poll_s=0.0, provision_s=30.0, silence_s=30.0, reserve_s=0.0, stop_s=30.0)
THE_3090 = Offer("NVIDIA GeForce RTX 3090", 0.46)
THE_4090 = Offer("NVIDIA GeForce RTX 4090", 0.69)
BUDGET = Budget(limit_usd=2.0, hours=2.0, disk_gb=140)

Rent = Callable[..., AbstractContextManager[Lease]]


@pytest.fixture
def peer() -> Iterator[RunPod]:
    """An account without pods."""
    with serve_runpod() as served:
        yield served


@pytest.fixture
def said() -> list[str]:
    """What a person was told."""
    return []


@pytest.fixture
def api(peer: RunPod, said: list[str]) -> Iterator[Api]:
    """A connection to it that waits for nothing."""
    with Api(Secret(KEY), said.append, base=peer.url, pace=QUICK) as connection:
        yield connection


@pytest.fixture
def records(tmp_path: Path) -> Records:
    """An empty folder of records."""
    return Records(tmp_path / "state")


@pytest.fixture
def rent(api: Api, records: Records) -> Rent:
    """A lease of a 3090, else of a 4090."""

    def make(order: Order = Order(), budget: Budget = BUDGET) -> AbstractContextManager[Lease]:  # noqa: B008 - frozen
        return leased(api, records, order, (THE_3090, THE_4090), budget, "test")

    return make


@pytest.fixture
def machine(peer: RunPod, tmp_path: Path) -> Iterator[Machine]:
    """A real sshd behind every pod of the peer."""
    with serve_machine(peer, tmp_path / "machine") as served:
        yield served
