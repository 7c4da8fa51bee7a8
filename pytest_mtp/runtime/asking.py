"""What the servers of one block are asked, in which turn, and each answer checked and kept."""

import hashlib
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count

from pytest_mtp.core.precondition import complaint, counted
from pytest_mtp.core.profile import PromptClass
from pytest_mtp.core.request import Request
from pytest_mtp.core.sample import Sample
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.errors import MeasureError
from pytest_mtp.runtime.engines.protocol import Running
from pytest_mtp.runtime.plan import Plan


def request_of(plan: Plan, prompt_class: PromptClass, server: Running) -> Request:
    """The request of a class as this server gets it, its prompt filled up to its length."""
    asked, template = plan.ask(prompt_class), plan.request.template
    return plan.filler.fill(asked, prompt_class, template, server.model, server.client)


class Asking:
    """The measured requests of one block, or of one start of it; its clock begins when it is made."""

    def __init__(self, plan: Plan, block: int, pairs: int | None = None) -> None:
        self._plan, self._block = plan, block
        # Where time says when to stop, the pairs are not known before.
        self._for_s = plan.measure.for_s if pairs is None else None
        self._pairs = pairs or plan.measure.pairs
        self._began = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        """Since it began."""
        return time.monotonic() - self._began

    def turns(self) -> Iterator[tuple[int, tuple[PromptClass, ...]]]:
        """Every class once, then again: each class's pairs lie over the whole block, so that all meet its weather."""
        for pair in range(self._pairs) if self._for_s is None else count():
            if self._for_s is not None and pair and self.elapsed_s >= self._for_s:
                return
            yield from ((pair, classes) for classes in self._plan.turns)

    def said(self, pair: int, classes: Sequence[PromptClass]) -> str:
        """How far it is, for the progress line."""
        names = ", ".join(one.name for one in classes)
        if self._for_s is not None:
            return f"{names} {self.elapsed_s:.0f}/{self._for_s:.0f} s"
        return f"{names} {pair + 1}/{self._pairs}"

    def samples(self, server: Running, classes: Sequence[PromptClass], pair: int) -> tuple[Sample, ...]:
        """The answers of one turn: one, or those of all classes, asked at the same time."""
        if len(classes) == 1:
            return (self._sample(server, classes[0], pair),)
        with ThreadPoolExecutor(len(classes)) as pool:
            return tuple(pool.map(lambda one: self._sample(server, one, pair), classes))

    def _sample(self, server: Running, prompt_class: PromptClass, pair: int) -> Sample:
        """One measured request, checked; counters are read around the first pair of the mtp arm only."""
        plan = self._plan
        alone = not plan.measure.at_once
        count_places = alone and server.arm is Arm.MTP and pair == 0
        with server.answering():
            request = request_of(plan, prompt_class, server)
            before = server.client.accepted_per_position() if count_places else None
        asked_ms = 1000 * self.elapsed_s
        answer = server.ask(request)
        with server.answering():
            after = server.client.accepted_per_position() if count_places else None
        if (broken := complaint(answer, plan.request.tokens, server.arm)) is not None:
            raise MeasureError(f"{server.arm.value} {prompt_class.name}: {broken}")
        return Sample(
            prompt_class=prompt_class.name,
            pair=pair,
            timings=answer.timings,
            wall_ms=answer.wall_ms,
            text_sha256=hashlib.sha256(answer.text.encode()).hexdigest(),
            accepted_per_position=counted(before, after),
            asked_ms=asked_ms,
            text=answer.text if not alone or pair == 0 else None,
            arrivals_ms=answer.arrivals_ms,
        )
