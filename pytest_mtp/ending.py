"""How a run ends: the exit status that scripts rely on."""

import pytest

from pytest_mtp.core.bisection import Answer
from pytest_mtp.core.status import RED_BY_HISTORY, STOPPED_BISECT, UNDECIDED
from pytest_mtp.session import Run


def status(run: Run, own: int) -> int:
    """The exit status of a run that pytest would end with ``own``."""
    if run.settings.bisect:
        return _for_git(run, own)
    if own != pytest.ExitCode.OK:
        return own
    if run.night.red:
        return RED_BY_HISTORY
    return UNDECIDED if run.undecided or run.night.open else own


def _for_git(run: Run, own: int) -> int:
    """What ``git bisect run`` takes: a loss is BAD whatever else happened, and GOOD needs every answer."""
    if own == pytest.ExitCode.INTERRUPTED:
        return STOPPED_BISECT
    if run.lost:
        return Answer.BAD.value
    if own == pytest.ExitCode.OK and not any(one.outcome.open for one in run.settled):
        return Answer.GOOD.value
    return Answer.SKIP.value
