"""A candidate of ``pytest-mtp bisect``: measured once, kept, and what it answers."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from pytest_mtp.core.bisection import Answer, Effect, Sense, answer, effect_of
from pytest_mtp.core.run_report import RunReport
from pytest_mtp.core.verdict import ClassResult
from pytest_mtp.errors import BuildError, FlagError, MeasureError, ServerError, SourceError
from pytest_mtp.reports.bisect import Wanted
from pytest_mtp.runtime.bisect_state import BisectState

# Of this candidate: others may be had. What is wrong with settings, model or disk is wrong for all of them.
_OF_ONE_CANDIDATE = (BuildError, SourceError, FlagError, ServerError, MeasureError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Asks candidates, those that are on record for nothing."""

    state: BisectState
    wanted: Wanted
    measure: Callable[[str], RunReport]
    """The report of a source text beside the good end."""

    def known(self, name: str) -> Effect | str | None:
        """The effect of a candidate on record, or why it has none; ``None`` where it was not measured."""
        report = self.state.report(name)
        if not isinstance(report, RunReport):
            return report
        found = effect_of(report.judged[0], self.wanted.prompt_class, self.wanted.quantity)
        if isinstance(found, Effect) and found.ratio in (0.0, math.inf) and self.wanted.sense is Sense.FASTER:
            return "its mtp arm does not start"
        return found

    def found(self, name: str, source: Callable[[], str]) -> Effect | str:
        """The same of any candidate, measuring it where it is not on record; MtpError of what is wrong for all."""
        if (known := self.known(name)) is not None:
            return known
        began = time.monotonic()
        try:
            kept: RunReport | str = self.measure(source())
        except _OF_ONE_CANDIDATE as error:
            kept = str(error)
        self.state.keep(name, kept, time.monotonic() - began)
        return self.known(name) or "nothing was measured"

    def result(self, name: str) -> tuple[str, ClassResult | None]:
        """When a candidate was measured, and the numbers of its class."""
        report = self.state.report(name)
        if not isinstance(report, RunReport):
            return "never", None
        results = report.judged[0].rejudged().results
        return report.created_at, next((one for one in results if one.prompt_class == self.wanted.prompt_class), None)


def answered(found: Effect | str, bad_effect: Effect) -> Answer:
    """What git is told of it."""
    return answer(found, bad_effect) if isinstance(found, Effect) else Answer.SKIP
