"""What is ours, what is too old, and what is no pod at all."""

from datetime import UTC, datetime

import pytest

from pytest_mtp.core.runpod.pod import DEAD, Door, Pod, Ssh, left_behind, ours, stale
from pytest_mtp.errors import RentalError

NOW = datetime(2026, 6, 2, 12, tzinfo=UTC)


def pod(name: str = "mtp-run-1", created: str | None = "2026-06-02T00:00:00Z", status: str = "RUNNING") -> Pod:
    return Pod(id="p1", name=name, createdAt=created, status=status)


@pytest.mark.parametrize(
    ("created", "old"),
    [
        ("2026-06-02T00:00:01Z", False),
        ("2026-06-02T00:00:00Z", False),  # the limit itself
        ("2026-06-01T23:59:59Z", True),
        ("2026-06-02T02:00:00+05:00", True),
        ("2026-06-02T00:00:01", False),  # without a zone it is of the world
        (None, True),  # it costs as well
        ("yesterday", True),
    ],
)
def test_a_pod_is_stale_beyond_its_hours(created: str | None, *, old: bool) -> None:
    assert bool(stale([pod(created=created)], NOW, 12)) is old


def test_only_pods_of_our_name_are_ours() -> None:
    assert [one.name for one in ours([pod("mtp-x"), pod("training"), pod("my-mtp-x")])] == ["mtp-x"]


@pytest.mark.parametrize("identifier", ["", "../x", "a/b", "a b", "a?b", "a" * 65])
def test_an_identifier_that_would_be_another_address_is_refused(identifier: str) -> None:
    with pytest.raises(ValueError, match="no identifier of a pod"):
        Pod(id=identifier, name="mtp-x")


@pytest.mark.parametrize(
    ("host", "port", "user"),
    [
        ("-oProxyCommand=x", 22, "root"),
        ("host; x", 22, "root"),
        ("", 22, "root"),
        ("host", 0, "root"),
        ("host", 65536, "root"),
        ("host", 22, "-x"),
    ],
)
def test_an_address_that_would_be_an_option_is_refused(host: str, port: int, user: str) -> None:
    with pytest.raises(ValueError, match="no host, port and user"):
        Door(host, port, user)


def test_a_pod_is_ready_when_it_runs_and_has_an_address() -> None:
    door = Ssh(Door("h", 1))
    assert Pod(id="p", name="n", status="RUNNING", ssh=door).ready
    assert not Pod(id="p", name="n", status="STARTING", ssh=door).ready
    assert not Pod(id="p", name="n", status="RUNNING", ssh=Ssh()).ready
    assert not Pod(id="p", name="n", status="RUNNING").ready


@pytest.mark.parametrize("status", sorted(DEAD))
def test_a_pod_that_has_ended_is_said_to_have(status: str) -> None:
    with pytest.raises(RentalError, match=f"is {status} before it was used"):
        pod(status=status).check_alive()


def test_a_status_of_the_future_is_waited_with() -> None:
    pod(status="SNOOZING").check_alive()


@pytest.mark.parametrize("ids", [(), ("p1",), ("p1", "p2")])
def test_a_pod_that_is_left_is_said_with_every_way_to_delete_it(ids: tuple[str, ...]) -> None:
    said = left_behind("mtp-run-1", ids, "it refuses.", "https://api.runpod.io")
    assert "MAY STILL RUN AND COST MONEY: it refuses." in said
    assert "pytest-mtp runpod down mtp-run-1" in said
    assert said.count("curl -X DELETE") == len(ids)
    assert all(f"https://api.runpod.io/v2/pods/{one}\n" in said for one in ids)
