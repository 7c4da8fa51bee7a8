"""Whatever goes wrong with a pod, the account has none in the end, or the message says which and how to delete it."""

import os
import signal
from dataclasses import replace

import pytest

from pytest_mtp.core.runpod.budget import Budget
from pytest_mtp.core.runpod.order import Order
from pytest_mtp.core.runpod.refusal import Reason, Refused
from pytest_mtp.errors import PodLeft, RentalError
from pytest_mtp.runtime.runpod.api import Api
from pytest_mtp.runtime.runpod.lease import Lease, leased
from pytest_mtp.runtime.runpod.records import Records
from tests.fakes.runpod import FakePod, Reply, RunPod
from tests.runtime.runpod.conftest import BUDGET, THE_3090, Rent

CREATE, LIST, DELETE, LOOK = "POST /v2/pods", "GET /v2/pods", "DELETE /v2/pods/*", "GET /v2/pods/*"


def test_a_pod_is_there_for_the_block_and_gone_after_it(peer: RunPod, rent: Rent, records: Records) -> None:
    with rent() as lease:
        assert [pod.id for pod in peer.pods.values()] == list(lease.record.ids)
        assert lease.pod is not None
        assert lease.pod.ready
        assert [one.ids for one in records.all(print)] == [lease.record.ids]
    assert peer.pods == {}
    assert list(records.folder.iterdir()) == []


def test_the_request_is_the_one_that_was_ordered(peer: RunPod, rent: Rent) -> None:
    with rent(Order(volume="vol_1", hf_secret="hub", data_centers=("EU-RO-1",))):
        pass
    (body,) = peer.bodies
    assert body["gpu"] == {"id": THE_3090.gpu, "count": 1, "minCudaVersion": "12.8"}
    assert body["mounts"] == {"network": [{"volumeId": "vol_1", "path": "/workspace"}]}
    assert body["env"]["HF_TOKEN"] == "{{ RUNPOD_SECRET_hub }}"
    assert body["env"]["PUBLIC_KEY"].startswith("ssh-ed25519 ")
    assert (body["ports"], body["startSsh"], body["dataCenterIds"]) == (["22/tcp"], True, ["EU-RO-1"])


class TrialError(Exception):
    """What a block may end with."""


@pytest.mark.parametrize("kind", [TrialError, KeyboardInterrupt, SystemExit])
def test_a_block_that_fails_leaves_no_pod(peer: RunPod, rent: Rent, kind: type[BaseException]) -> None:
    def fail(lease: Lease) -> None:
        lease.keep()  # which holds only where the block ends well
        raise kind

    with pytest.raises(kind), rent() as lease:
        fail(lease)
    assert peer.pods == {}


def test_a_kept_pod_stays_and_is_on_record(peer: RunPod, rent: Rent, records: Records) -> None:
    with rent() as lease:
        lease.keep()
    assert [pod.id for pod in peer.pods.values()] == list(lease.record.ids)
    assert [(one.name, one.kept) for one in records.all(print)] == [(lease.record.name, True)]


@pytest.mark.parametrize("status", [400, 403])
def test_without_a_place_the_next_kind_is_asked_for(peer: RunPod, rent: Rent, said: list[str], status: int) -> None:
    peer.replies[CREATE] = [Reply(status, detail="no instances available")]
    with rent() as lease:
        assert lease.offer is not None
        assert lease.offer.gpu == "NVIDIA GeForce RTX 4090"
    assert any("RTX 3090" in one and "no instances available" in one for one in said)
    assert peer.pods == {}


def test_where_no_kind_has_a_place_the_last_refusal_is_said(peer: RunPod, rent: Rent, records: Records) -> None:
    peer.replies[CREATE] = [Reply(400), Reply(400, detail="no machine of the second kind")]
    with pytest.raises(Refused, match=r"RTX 4090: no machine .* no machine of the second kind.*--gpu"), rent():
        pytest.fail("there is no pod")
    assert peer.pods == {}
    assert list(records.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("status", "mend"),
    [(401, "RUNPOD_API_KEY"), (402, "credit"), (422, "update pytest-mtp")],
)
def test_what_no_other_kind_would_mend_is_asked_once(peer: RunPod, rent: Rent, status: int, mend: str) -> None:
    peer.replies[CREATE] = [Reply(status)]
    with pytest.raises(Refused, match=mend), rent():
        pytest.fail("there is no pod")
    assert peer.asked == ["POST /v2/pods"]
    assert peer.pods == {}


def test_too_many_requests_are_waited_for_as_long_as_runpod_says(peer: RunPod, rent: Rent) -> None:
    peer.replies[CREATE] = [Reply(429, {"Retry-After": "0"}), Reply(429, {"Retry-After": "0"})]
    with rent():
        assert len(peer.pods) == 1
    assert peer.pods == {}


def test_a_pause_that_is_too_long_is_said_and_not_waited_for(peer: RunPod, rent: Rent) -> None:
    peer.replies[CREATE] = [Reply(429, {"Retry-After": "3600"})]
    with pytest.raises(Refused, match="too many requests"), rent():
        pytest.fail("there is no pod")
    assert peer.asked == ["POST /v2/pods"]


def test_requests_that_are_always_too_many_end(peer: RunPod, rent: Rent) -> None:
    peer.replies[CREATE] = [Reply(429)] * 9
    with pytest.raises(Refused, match="too many requests"), rent():
        pytest.fail("there is no pod")
    assert peer.asked.count("POST /v2/pods") == 3
    assert peer.pods == {}


def test_a_failure_of_runpod_is_asked_again(peer: RunPod, rent: Rent) -> None:
    peer.replies[CREATE] = [Reply(500), Reply(503)]
    with rent():
        assert len(peer.pods) == 1
    assert peer.pods == {}


def test_a_pod_made_behind_a_failure_is_deleted_before_another_is_asked_for(peer: RunPod, rent: Rent) -> None:
    peer.replies[CREATE] = [Reply(502, done=True)]
    with rent() as lease:
        assert [pod.id for pod in peer.pods.values()] == list(lease.record.ids)
    assert sum(one.startswith("DELETE") for one in peer.asked) == 2
    assert peer.pods == {}


def test_a_pod_whose_answer_was_lost_is_found_by_its_name_and_deleted(
    peer: RunPod, rent: Rent, records: Records, said: list[str]
) -> None:
    peer.replies[CREATE] = [Reply(201, done=True, cut=True)]
    with pytest.raises(Refused, match="no whole answer came"), rent():
        pytest.fail("nobody knows the pod")
    assert peer.asked.count("POST /v2/pods") == 1
    assert peer.pods == {}
    assert any("Deleted pod" in one for one in said)
    assert list(records.folder.iterdir()) == []


def test_a_pod_that_is_listed_late_is_waited_for(peer: RunPod, rent: Rent) -> None:
    peer.listed_late = 2
    peer.replies[CREATE] = [Reply(201, done=True, cut=True)]
    with pytest.raises(Refused, match="no whole answer"), rent():
        pytest.fail("nobody knows the pod")
    assert peer.asked.count("GET /v2/pods") == 4  # twice without it, with it, and once more for proof
    assert peer.pods == {}


def test_where_no_pod_turns_up_the_record_stays_for_the_next_call(
    peer: RunPod, rent: Rent, records: Records, said: list[str]
) -> None:
    peer.replies[CREATE] = [Reply(201, cut=True)]
    with pytest.raises(Refused, match="no whole answer"), rent():
        pytest.fail("there is no pod")
    assert [one.ids for one in records.all(print)] == [()]
    assert any("looks again" in one for one in said)


def test_an_answer_that_is_no_pod_counts_as_lost(peer: RunPod, rent: Rent) -> None:
    peer.replies[CREATE] = [Reply(200, done=True)]
    with pytest.raises(Refused, match="its answer is no Pod"), rent():
        pytest.fail("nobody knows the pod")
    assert peer.pods == {}


@pytest.mark.parametrize("status", ["EXITED", "ERROR", "TERMINATED"])
def test_a_pod_that_dies_before_it_is_up_is_deleted(peer: RunPod, rent: Rent, status: str) -> None:
    peer.statuses = ("PROVISIONING", "STARTING", status)
    with pytest.raises(RentalError, match=f"is {status} before it was used"), rent():
        pytest.fail("it never ran")
    assert not any(pod.statuses[0] != "TERMINATED" for pod in peer.pods.values())


def test_a_pod_that_vanishes_before_it_is_up_is_said(peer: RunPod, rent: Rent) -> None:
    peer.replies[LOOK] = [Reply(404)]
    with pytest.raises(Refused, match="there is no such thing"), rent():
        pytest.fail("it never ran")
    assert peer.pods == {}


def test_a_pod_that_never_comes_up_is_deleted(peer: RunPod, rent: Rent, api: Api) -> None:
    api.pace = replace(api.pace, provision_s=-1.0)
    peer.statuses = ("PROVISIONING",)
    with pytest.raises(RentalError, match=r"was not up within .* minutes \(it is PROVISIONING\)"), rent():
        pytest.fail("it never ran")
    assert peer.pods == {}


def test_a_pod_that_is_billed_above_the_limit_is_deleted(peer: RunPod, rent: Rent) -> None:
    peer.cost = 1.5
    with pytest.raises(RentalError, match=r"bills 1\.500 USD per hour .* more than the --limit"), rent():
        pytest.fail("it is too dear")
    assert peer.pods == {}


def test_a_deletion_that_fails_is_tried_again(peer: RunPod, rent: Rent) -> None:
    peer.replies[DELETE] = [Reply(500), Reply(429, {"Retry-After": "0"})]
    with rent():
        pass
    assert peer.pods == {}


def test_a_pod_that_cannot_be_deleted_is_said_loudly_with_the_command(
    peer: RunPod, rent: Rent, records: Records
) -> None:
    peer.replies[DELETE] = [Reply(500, detail="broken")] * 99
    with pytest.raises(PodLeft) as caught, rent() as lease:
        pass
    (pod,) = peer.pods.values()
    message = str(caught.value)
    assert f"POD {pod.id} ({lease.record.name}) MAY STILL RUN AND COST MONEY" in message
    assert f"pytest-mtp runpod down {lease.record.name}" in message
    assert f"curl -X DELETE -H @- {peer.url}/v2/pods/{pod.id}" in message
    assert [one.name for one in records.all(print)] == [lease.record.name]


def test_where_no_list_is_to_be_had_the_word_of_the_deletion_counts(peer: RunPod, rent: Rent) -> None:
    with rent():
        peer.replies[LIST] = [Reply(500)] * 99
    assert peer.pods == {}


def test_two_pods_of_one_name_are_both_deleted(peer: RunPod, rent: Rent) -> None:
    with rent() as lease:
        peer.plant(lease.record.name)
        other = peer.plant("somebody-else")
    assert [pod.id for pod in peer.pods.values()] == [other.id]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_does_not_disturb_the_deletion(
    peer: RunPod, rent: Rent, said: list[str], number: signal.Signals
) -> None:
    before = signal.getsignal(number)
    with rent():
        peer.replies[LIST] = _signalling(number)
    assert peer.pods == {}
    assert any("is being deleted" in one for one in said)
    assert signal.getsignal(number) is before


def _signalling(number: signal.Signals) -> list[Reply]:
    """Replies of which taking one sends us a signal."""

    class Signalling(list[Reply]):
        def pop(self, index: int = -1, /) -> Reply:  # type: ignore[override]
            os.kill(os.getpid(), number)
            return super().pop(index)

    return Signalling([Reply(500)])


def test_ctrl_c_within_the_request_leaves_no_pod(peer: RunPod, rent: Rent) -> None:
    def interrupt(_: FakePod) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    peer.on_create = interrupt
    with pytest.raises(KeyboardInterrupt), rent():
        pytest.fail("it was interrupted")
    with peer.lock:
        assert peer.pods == {}


def test_without_a_connection_nothing_was_rented_and_nothing_is_feared(
    rent: Rent, api: Api, records: Records, unused_port: int
) -> None:
    with Api(api.key, api.say, base=f"http://127.0.0.1:{unused_port}", pace=api.pace) as other:
        lease = leased(other, records, Order(), (THE_3090,), BUDGET, "test")
        with pytest.raises(Refused, match="cannot be reached") as caught, lease:
            pytest.fail("there is no pod")
    assert caught.value.reason is Reason.UNREACHABLE
    assert list(records.folder.iterdir()) == []


def test_what_was_spent_is_the_share_of_the_hours(rent: Rent) -> None:
    with rent(budget=Budget(limit_usd=2.0, hours=2.0, disk_gb=140)) as lease:
        assert 0 < lease.spent_usd < 0.1
