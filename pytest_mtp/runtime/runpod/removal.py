"""Delete pods, and be sure that they are gone: asked again, looked after, and said loudly where they stay."""

import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from pytest_mtp.core.runpod.pod import left_behind
from pytest_mtp.core.runpod.refusal import Refused
from pytest_mtp.errors import PodLeft
from pytest_mtp.runtime.progress import Progress, note
from pytest_mtp.runtime.runpod.api import Api

_GONE = "TERMINATED"
_HELD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(slots=True)
class Removal:
    """All pods of one name, and those of known identifiers."""

    api: Api
    name: str
    known: set[str] = field(default_factory=set)
    uncertain: bool = False
    """Whether one may be there that is not listed yet: then a list without it proves nothing at once."""
    _why: str = "it was not looked for"
    _asked_s: float = 0.0

    def run(self) -> tuple[str, ...]:
        """Delete them; what was deleted. PodLeft where RunPod does not confirm it, whatever is tried."""
        gone = False
        for wait_s in (0.0, *self.api.pace.waits_s):
            time.sleep(max(wait_s, self._asked_s))
            self._asked_s = 0.0
            gone = self._round()
            if gone and (self.known or not self.uncertain):
                break
        if not gone:
            raise PodLeft(left_behind(self.name, sorted(self.known), self._why, self.api.base))
        return tuple(sorted(self.known))

    def _round(self) -> bool:
        """Delete what there is; whether RunPod confirms that nothing is left."""
        listed = self._listed()
        if listed is None:
            # Without a list, the word of each deletion counts, where all pods are known.
            done = [self._delete(one) for one in sorted(self.known)]
            return bool(done) and all(done) and not self.uncertain
        for one in listed:
            self._delete(one)
        return not listed or self._listed() == ()

    def _listed(self) -> tuple[str, ...] | None:
        """The identifiers of those that RunPod lists; ``None`` where it gives no list."""
        try:
            pods = self.api.pods_once()
        except Refused as error:
            self._note(error)
            return None
        mine = (pod for pod in pods if pod.name == self.name or pod.id in self.known)
        found = tuple(pod.id for pod in mine if pod.status != _GONE)
        self.known.update(found)
        return found

    def _delete(self, identifier: str) -> bool:
        self._why = "RunPod still lists it."
        try:
            self.api.delete(identifier)
        except Refused as error:
            self._note(error)
            return False
        return True

    def _note(self, error: Refused) -> None:
        self._why = str(error)
        self._asked_s = min(error.wait_s or 0.0, self.api.pace.patience_s)


def remove(api: Api, name: str, ids: Iterable[str] = (), *, uncertain: bool = False) -> tuple[str, ...]:
    """Delete all pods of a name, undisturbed by Ctrl-C; the identifiers of those that there were."""
    with undisturbed(api.say):
        return Removal(api, name, set(ids), uncertain).run()


@contextmanager
def undisturbed(say: Progress) -> Iterator[None]:
    """Let a signal that would end us be answered with words, until the block is done; it is bounded.

    Of another thread than the first it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def answer(_number: int, _frame: object) -> None:
        with suppress(OSError):
            say(note("The pod is being deleted; wait for it, or it goes on costing money."))

    before = {number: signal.signal(number, answer) for number in _HELD}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
