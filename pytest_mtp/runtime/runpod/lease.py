"""A pod for the length of a block: made, waited for, and deleted however the block ends."""

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pytest_mtp.core.runpod.budget import Budget, usd
from pytest_mtp.core.runpod.offer import Offer
from pytest_mtp.core.runpod.order import Order, Tenancy, body
from pytest_mtp.core.runpod.pod import PREFIX, Pod
from pytest_mtp.core.runpod.refusal import ANOTHER_KIND, UNCERTAIN, Reason, Refused
from pytest_mtp.errors import RentalError
from pytest_mtp.runtime.progress import note
from pytest_mtp.runtime.runpod.api import Api
from pytest_mtp.runtime.runpod.key_pair import make_key_pair
from pytest_mtp.runtime.runpod.records import Record, Records
from pytest_mtp.runtime.runpod.removal import remove

_NAME_BYTES = 4
_MINUTE_S = 60


@dataclass(slots=True)
class Lease:
    """One pod that is being rented, or is."""

    api: Api
    records: Records
    budget: Budget
    record: Record
    began: float
    """``time.monotonic()`` of the request; what follows is paid."""
    pod: Pod | None = None
    offer: Offer | None = None
    uncertain: bool = False
    """Whether a pod may have been made without a word of it."""
    kept: bool = False

    @property
    def paid_until(self) -> float:
        """``time.monotonic()`` at which it must be gone."""
        return self.began + self.budget.seconds

    @property
    def spent_usd(self) -> float:
        """What it has cost so far, about."""
        price = (self.pod.cost if self.pod is not None else None) or (self.offer.price_usd if self.offer else 0.0)
        return (time.monotonic() - self.began) / self.budget.seconds * self.budget.most_usd(price)

    def keep(self) -> None:
        """Leave the pod to a person when the block ends well."""
        self.kept = True
        self.records.keep(self.record)

    def place(self, order: Order, offers: Sequence[Offer]) -> None:
        """Ask for each card in turn until there is a pod; ``Refused`` with the last refusal."""
        refusal: Refused | None = None
        for offer in offers:
            try:
                self._make(order, offer)
            except Refused as error:
                if error.reason not in ANOTHER_KIND:
                    raise
                refusal = error
                self.api.say(note(f"{offer.gpu}: {error.reason.value} ({error.detail})."))
            else:
                return
        if refusal is not None:
            raise refusal

    def await_ready(self) -> Pod:
        """Wait until it runs and has an address; RentalError where it dies, takes too long or costs too much."""
        pace = self.api.pace
        end = time.monotonic() + pace.provision_s
        pod = self._look()
        while not pod.ready:
            if time.monotonic() > end:
                raise RentalError(
                    f"Pod {pod.id} ({pod.name}) was not up within {pace.provision_s / _MINUTE_S:.0f} minutes "
                    f"(it is {pod.status}). Try another --cloud, --gpu or --image."
                )
            self.api.say(f"pod {pod.id}: {pod.status.lower()}")
            time.sleep(pace.poll_s)
            pod = self._look()
        return pod

    def end(self) -> None:
        """Delete it; PodLeft where that is not confirmed."""
        ids = self.record.ids
        if not ids and not self.uncertain:
            self.records.forget(self.record.name)
            return
        self.api.say("deleting the pod")
        removed = remove(self.api, self.record.name, ids, uncertain=self.uncertain)
        if removed:
            self.api.say(note(f"Deleted pod {' and '.join(removed)} ({self.record.name})."))
            self.records.forget(self.record.name)
        else:  # the record stays, so that the next call looks once more
            self.api.say(
                note(
                    f"No pod named {self.record.name} is there, though one may have been made. The next "
                    "`pytest-mtp runpod` command looks again; so does `pytest-mtp runpod sweep`."
                )
            )

    def _make(self, order: Order, offer: Offer) -> None:
        """Ask for one kind of card, again where RunPod itself failed."""
        place = self.records.place(self.record.name)
        tenancy = Tenancy(
            name=self.record.name,
            gpu=offer.gpu,
            public_key=make_key_pair(place),
            api=self.api.base,
            until=self.record.until,
            seconds=self.budget.seconds,
        )
        request = body(order, tenancy)
        for usual_s in (*self.api.pace.waits_s, None):
            self.uncertain = True  # also where Ctrl-C ends the request
            try:
                pod = self.api.create(request)
            except Refused as error:
                self.uncertain = error.reason in UNCERTAIN
                self._wait(error, usual_s)
                continue
            self._made(pod, offer)
            return

    def _wait(self, error: Refused, usual_s: float | None) -> None:
        """Before the same request is made again; raises the refusal where that is no use."""
        wait_s = None if usual_s is None else self.api.wait_of(error, usual_s)
        # What may have been made is deleted, not made twice.
        if wait_s is None or error.reason is Reason.CUT:
            raise error
        if self.uncertain:
            remove(self.api, self.record.name)
        self.api.say(note(f"{error.what}: {error.reason.value}; asking again in {wait_s:.0f} s."))
        time.sleep(wait_s)

    def _made(self, pod: Pod, offer: Offer) -> None:
        self.pod, self.offer = pod, offer
        self.record = replace(self.record, ids=(pod.id,), price_usd=offer.price_usd)
        self.records.write(self.record)
        self.uncertain = False
        self.api.say(note(f"Rented pod {pod.id} ({self.record.name}): {offer.gpu}."))
        self._check_price(pod)

    def _look(self) -> Pod:
        self.pod = self.api.pod(self.record.ids[0])
        self.pod.check_alive()
        self._check_price(self.pod)
        return self.pod

    def _check_price(self, pod: Pod) -> None:
        """RentalError where what is billed would break the limit, whatever the catalog said."""
        if pod.cost is not None and not self.budget.allows(pod.cost):
            raise RentalError(
                f"RunPod bills {pod.cost:.3f} USD per hour for pod {pod.id}: {self.budget.hours:g} h would cost "
                f"{usd(self.budget.most_usd(pod.cost))}, more than the --limit. Raise --limit or lower --hours."
            )


@contextmanager
def leased(
    api: Api, records: Records, order: Order, offers: Sequence[Offer], budget: Budget, purpose: str
) -> Iterator[Lease]:
    """A pod that is up, for the block; deleted at its end unless the block keeps it and ends well."""
    name = f"{PREFIX}{purpose}-{secrets.token_hex(_NAME_BYTES)}"
    record = records.begin(name, int(time.time()) + budget.seconds)
    lease = Lease(api, records, budget, record, time.monotonic())
    done = False
    try:
        lease.place(order, offers)
        lease.await_ready()
        yield lease
        done = True
    finally:
        if not (done and lease.kept):
            lease.end()
