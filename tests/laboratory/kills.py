"""Runs of the real gate that are killed at random moments and taken up again: is anything lost, or left behind?

``python -m tests.laboratory.kills --kills 200`` prints a table. A campaign is killed and taken up again until it ends;
then the next one begins. After every kill no process of the run may live, every lock must be free, and no finished
block may be gone or have been written anew. The campaign's blocks must be those that were seen on the way, and its
verdicts those of a run that nobody disturbed.
"""

import argparse
import fcntl
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from pytest_mtp.core.run_report import RunReport
from pytest_mtp.core.sample import Block
from pytest_mtp.core.side import Side
from pytest_mtp.runtime.journal import KeptBlock
from pytest_mtp.runtime.store import load_report, load_value
from tests.laboratory.faults import Fault

HERE = Path(__file__).parent
SUITE = HERE.parents[1] / "suites" / "test_speedup.py"
PROFILE = HERE / "killed.toml"
LOSS = Fault.CLIFF.on(2)
"""Of the build with planted faults; drafting three tokens then takes ten times as long."""

_ENDING_S = 10.0
_HANGING_S = 900.0
_POLL_S = 0.02

Seen = Mapping[str, tuple[int, int]]
"""The files of finished blocks, each with its inode and time of change: who writes one anew changes both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Where and what the runs measure, always the same."""

    folder: Path
    """Empty, or what an earlier laboratory left."""
    server: Path
    profile: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    more: Sequence[str] = ()

    @property
    def journals(self) -> Path:
        """Where finished blocks are kept."""
        return self.folder / "cache" / "unfinished"

    def begun(self, report: Path) -> "subprocess.Popen[bytes]":
        """A run that takes up what is there."""
        temporary = self.folder / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        command = [
            *(sys.executable, "-m", "pytest", str(SUITE), "-q", "-p", "no:cacheprovider", "--mtp", "--mtp-resume"),
            *(f"--mtp-profile={self.profile}", f"--mtp-source=bin:{self.server}", f"--mtp-json={report}"),
            *(f"--mtp-cache-dir={self.folder / 'cache'}", *self.more),
        ]
        # The folder in TMPDIR marks every process of the run, and holds its devices' lock.
        told = {**os.environ, **self.environment, "TMPDIR": str(temporary)}
        with (self.folder / "run.log").open("wb") as log:
            return subprocess.Popen(command, env=told, cwd=self.folder, stdout=log, stderr=subprocess.STDOUT)

    def seen(self) -> Seen:
        """The finished blocks on disk."""
        files = self.journals.glob("*/block-*.json")
        told = ((str(one.relative_to(self.journals)), one.stat()) for one in files)
        return {name: (one.st_ino, one.st_mtime_ns) for name, one in told}

    def blocks(self) -> Mapping[str, Block]:
        """What the files hold."""
        return {name: load_value(self.journals / name, KeptBlock).blocks[Side.HEAD] for name in self.seen()}

    def left(self) -> list[str]:
        """Processes of a run that live, this one's children excluded that were reaped."""
        mark = f"TMPDIR={self.folder / 'tmp'}".encode()
        return list(_processes(mark))

    def locked(self) -> list[str]:
        """Locks that somebody holds."""
        locks = [*self.folder.glob("cache/*/*.lock"), *self.folder.glob("tmp/pytest-mtp-*/*.lock")]
        return [one.name for one in locks if not _free(one)]


@dataclass(slots=True)
class Tally:
    """What came of the kills."""

    kills: int = 0
    campaigns: int = 0
    orphans: int = 0
    stuck_locks: int = 0
    lost: int = 0
    written_anew: int = 0
    changed: int = 0
    """Blocks of a finished campaign that are not those that were kept."""
    other_verdicts: int = 0
    taken_up: int = 0
    """Blocks that a later run did not have to measure."""

    @property
    def sound(self) -> bool:
        """Whether nothing went wrong."""
        return not (
            self.orphans or self.stuck_locks or self.lost or self.written_anew or self.changed or self.other_verdicts
        )

    def lines(self) -> Iterator[str]:
        """A line for each count."""
        for name in self.__slots__:
            yield f"{name.replace('_', ' '):16} {getattr(self, name)}"


def killed_runs(ground: Ground, kills: int, chance: random.Random, span_s: float, expected: RunReport) -> Tally:
    """Kill runs until there were so many kills, each within ``span_s`` of its start; the last campaign is finished."""
    tally = Tally()
    while tally.kills < kills:
        _campaign(ground, kills, chance, span_s, expected, tally)
        sys.stderr.write(f"{tally.kills} kills, {tally.campaigns} campaigns, sound: {tally.sound}\n")
    return tally


def _campaign(
    ground: Ground, kills: int, chance: random.Random, span_s: float, expected: RunReport, tally: Tally
) -> None:
    report, known = ground.folder / "report.json", dict[str, Block]()
    report.unlink(missing_ok=True)
    while True:
        before = ground.seen()
        run = ground.begun(report)
        killed = tally.kills < kills and not _ended(run, chance.uniform(0.0, span_s))
        if not killed:
            run.wait(_HANGING_S)
            break
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
        tally.kills += 1
        whole = report.exists()  # killed on its way out: then the blocks are in the report
        _look(ground, {} if whole else before, tally)
        if whole:
            break
        known |= ground.blocks()
    tally.campaigns += 1
    found = load_report(report)
    tally.taken_up += sum(one.campaign.resumed for one in found.judged)
    tally.changed += len(_changed(found, known))
    if outcomes(found) != outcomes(expected):
        tally.other_verdicts += 1
        sys.stderr.write(f"campaign {tally.campaigns} found {outcomes(found)}\n")


def _look(ground: Ground, before: Seen, tally: Tally) -> None:
    """Count what a kill left behind or took away."""
    deadline = time.monotonic() + _ENDING_S
    while ground.left() and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    after = ground.seen()
    lost = sorted(before.keys() - after.keys())
    anew = [name for name, told in before.items() if after.get(name, told) != told]
    orphans, locked = ground.left(), ground.locked()
    tally.orphans += len(orphans)
    tally.stuck_locks += len(locked)
    tally.lost += len(lost)
    tally.written_anew += len(anew)
    if found := [*orphans, *locked, *lost, *anew]:
        sys.stderr.write(f"kill {tally.kills} left or lost {', '.join(found)}\n")


def outcomes(report: RunReport) -> dict[str, str]:
    """The verdict on each class's speed."""
    return {one.prompt_class: one.speed.outcome.value for judged in report.judged for one in judged.results}


def _changed(report: RunReport, known: Mapping[str, Block]) -> list[str]:
    """The kept blocks that a report does not have in their places."""
    (judged,) = report.judged
    campaigns = {False: judged.campaign, True: judged.again}
    wrong = []
    for name, block in known.items():
        campaign = campaigns["-again-" in name]
        if campaign is None or block not in campaign.blocks or campaign.blocks[block.index] != block:
            wrong.append(name)
    return wrong


def _ended(run: "subprocess.Popen[bytes]", within_s: float) -> bool:
    try:
        run.wait(within_s)
    except subprocess.TimeoutExpired:
        return False
    return True


def _processes(mark: bytes) -> Iterator[str]:
    """Those that have this in their environment, and run."""
    for process in psutil.process_iter(["pid", "name", "status"]):
        if process.info["status"] == psutil.STATUS_ZOMBIE:
            continue
        try:
            environment = Path(f"/proc/{process.info['pid']}/environ").read_bytes().split(b"\0")
        except OSError:  # it has just ended, or is the kernel's
            continue
        if mark in environment:
            yield f"{process.info['name']} ({process.info['pid']})"


def _free(lock: Path) -> bool:
    with lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def undisturbed(ground: Ground) -> tuple[RunReport, float]:
    """A run that nobody kills, and how long it took, seconds."""
    began = time.monotonic()
    report = ground.folder / "undisturbed.json"
    run = ground.begun(report)
    run.wait(_HANGING_S)
    return load_report(report), time.monotonic() - began


def main() -> int:
    """Print the table; 1 where something was lost or left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--server", type=Path, required=True, help="llama-server with planted faults")
    parser.add_argument("--profile", type=Path, default=PROFILE)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--span", type=float, help="latest kill after a start, seconds (default: half a whole run)")
    parser.add_argument("--no-loss", action="store_true", help="plant none")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    ground = Ground(
        folder=asked.folder.absolute(),
        server=asked.server.absolute(),
        profile=asked.profile,
        environment={} if asked.no_loss else LOSS,
    )
    expected, whole_s = undisturbed(ground)
    span_s = asked.span or whole_s / 2
    print(f"undisturbed: {outcomes(expected)}, {whole_s:.0f} s; killed within {span_s:.1f} s")  # noqa: T201 - a table
    tally = killed_runs(ground, asked.kills, random.Random(asked.seed), span_s, expected)
    print("\n".join(tally.lines()))  # noqa: T201 - a table
    return 0 if tally.sound else 1


if __name__ == "__main__":
    sys.exit(main())
