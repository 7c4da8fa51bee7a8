"""``pytest-mtp bisect`` whose measuring reads what it would find out of a file of the tree.

Run with ``step`` it is what git asks, with ``drive`` the command itself. The words that ``src/speed.txt`` may say:
a number (mtp tok/s over GOOD's), ``broken`` (does not compile), ``undecided``, ``invalid`` (the control moved),
``silent`` (the mtp arm does not start), ``refused`` (something is wrong for every candidate), ``crash``.
"""

import argparse
import os
import signal
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event

from pytest_mtp.commands import bisect
from pytest_mtp.core.comparison import Compared
from pytest_mtp.core.profile import Gate
from pytest_mtp.core.run_report import REPORT_VERSION, Judged, RunReport
from pytest_mtp.core.sample import ArmFailure, Stage
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.source import parse_source
from pytest_mtp.errors import BuildError, SettingsError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.sources import fetch_source
from tests.campaigns import around, campaign
from tests.comparisons import compared, stretched

LOG = "FAKE_BISECT_LOG"
"""Variable: the file that gets the word of every measurement, as it begins."""
KILLED_AT = "FAKE_BISECT_KILLED_AT"
"""Variable: ``NUMBER SIGNAL``; as the measurement of that number begins, the command gets the signal."""
DRIVER = "FAKE_BISECT_DRIVER"

SPEED = Path("src", "speed.txt")
STEP = (sys.executable, "-m", "tests.fakes.bisecting", "step")

_BASE = campaign({"right": around(2.0, 0.01, 5)})
_SILENT = (ArmFailure(arm=Arm.MTP, stage=Stage.START, message="no context"),)


def measure(source: str, good: str, parsed: argparse.Namespace) -> RunReport:
    """What the tree of ``source`` says."""
    word = (fetch_source(parse_source(source), Cache(Path(parsed.mtp_cache_dir))).path / SPEED).read_text().split()[0]
    with Path(os.environ[LOG]).open("a") as log:
        log.write(f"{word}\n")
    _maybe_kill()
    return report_of(word)


def _maybe_kill() -> None:
    number, _, which = os.environ.get(KILLED_AT, "0 9").partition(" ")
    if len(Path(os.environ[LOG]).read_text().split()) == int(number):
        os.kill(int(os.environ[DRIVER]), int(which))
        Event().wait(30)  # until the end of the command ends this process too
        with Path(os.environ[LOG]).open("a") as log:
            log.write("survived\n")


def report_of(word: str) -> RunReport:
    """The report that a candidate of this word gives."""
    if word == "broken":
        raise BuildError("The compiler gave up.\nerror: expected ';'")
    if word == "refused":
        raise SettingsError("The profile is wrong for all.")
    if word == "crash":
        raise RuntimeError("no error of ours")
    against: Compared = compared(_BASE, control=1.2 if word == "invalid" else 1.0)
    if word in ("invalid", "silent"):
        head = _BASE
    else:
        head = stretched(_BASE, mtp=1 / 0.95, sd=0.05) if word == "undecided" else stretched(_BASE, mtp=1 / float(word))
    judged = Judged(campaign=head, gate=Gate(), compared=against)
    if word == "silent":
        judged = replace(judged, campaign=replace(_BASE, blocks=(), failures=_SILENT))
    at = "2026-01-01T00:00:00+00:00"
    return RunReport(
        version=REPORT_VERSION, created_at=at, tool="t", profile="p", machine={}, judged=(judged.rejudged(),)
    )


def parsed(*words: str) -> argparse.Namespace:
    """As the command line gives it."""
    parser = argparse.ArgumentParser()
    bisect.add_arguments(parser)
    return parser.parse_args(words)


def main(arguments: list[str]) -> int:
    """Be the step or the command."""
    vars(bisect).update(measure=measure, STEP=STEP)
    if arguments[1] == "step":
        return bisect.step(arguments[1:])
    os.environ[DRIVER] = str(os.getpid())
    with suppress(KeyboardInterrupt):
        return bisect.run(parsed(*arguments[2:]))
    return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main(sys.argv))
