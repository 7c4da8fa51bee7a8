"""Many runs of the real gate, with and without planted losses: what the decision is worth on this machine.

``python -m tests.laboratory.real_runs --folder lab`` calibrates once, then runs what is not in ``lab/runs.jsonl`` yet,
so that it can be stopped and started again; ``--healthy 200`` goes on through a night. Each line of the file is one
run: what was planted, what came, how long it took. ``--table`` prints them as a table and measures nothing.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pytest_mtp.core.profile import Profile
from pytest_mtp.core.verdict import Outcome
from pytest_mtp.equipment import build_of, source_of
from pytest_mtp.options import plain_settings
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.profiles import load_profile
from pytest_mtp.runtime.store import load_report

HERE = Path(__file__).parent
SHORT = HERE / "short.toml"
SUITES = HERE.parents[1] / "suites"


@dataclass(frozen=True, slots=True)
class Planted:
    """A loss that a run shall find, or none."""

    name: str
    model: str = "phantom"
    pause: float = 0.0
    """The share of its time that is stolen from the server."""
    arms: str = "none"
    """Whose: ``mtp`` or ``both``."""


HEALTHY = Planted("healthy")
LOSSES = (
    Planted("head, 4 % more wrong", model="phantom:head=degraded:0.04@miss20"),
    Planted("head, 10 % more wrong", model="phantom:head=degraded:0.10@miss20"),
    Planted("mtp arm stopped 12 %", pause=0.12, arms="mtp"),
    Planted("mtp arm stopped 25 %", pause=0.25, arms="mtp"),
    Planted("both arms stopped 40 %", pause=0.40, arms="both"),
    Planted("both arms stopped 55 %", pause=0.55, arms="both"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One run."""

    planted: str
    status: int
    minutes: float
    blocks: int
    again: int
    """Blocks in fresh starts."""
    red: tuple[str, ...]
    """Classes and speeds that were REGRESSION."""
    causes: tuple[str, ...]
    outcomes: dict[str, int]
    sentences: tuple[str, ...]


def main() -> None:
    """Calibrate, run what is missing, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--healthy", type=int, default=15, help="runs without a loss (default: 15)")
    parser.add_argument("--planted", type=int, default=2, help="runs of each planted loss (default: 2)")
    parser.add_argument("--sessions", type=int, default=5, help="sessions of the baseline (default: 5)")
    parser.add_argument("--table", action="store_true", help="only print the table")
    asked = parser.parse_args()
    laboratory = Laboratory(asked.folder.absolute())
    if not asked.table:
        laboratory.calibrate(asked.sessions)
        for planted in laboratory.missing(asked.healthy, asked.planted):
            laboratory.run(planted)
    print("\n".join(table(laboratory.ran())))  # noqa: T201 - what it is for


class Laboratory:
    """A folder: ``baselines/``, the last ``report.json``, the wrapper of a slowed server, ``runs.jsonl``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self.results = folder / "runs.jsonl"

    def ran(self) -> list[Ran]:
        """Every run so far."""
        if not self.results.exists():
            return []
        return [Ran(**json.loads(line)) for line in self.results.read_text().splitlines()]

    def missing(self, healthy: int, planted: int) -> Iterator[Planted]:
        """What is left to run, losses among the healthy runs as they come."""
        done = Counter(one.planted for one in self.ran())
        left = [HEALTHY] * (healthy - done[HEALTHY.name])
        for loss in LOSSES:
            left[1:1] = [loss] * (planted - done[loss.name])
        yield from left

    def calibrate(self, sessions: int) -> None:
        """Record the baseline, unless there is one."""
        if (self.folder / "baselines").exists():
            return
        subprocess.run([*self._command("calibrate"), "--sessions", str(sessions)], check=True, cwd=self.folder)

    def run(self, planted: Planted) -> None:
        """One run of the gate; its line is written before the next one begins."""
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        words = ["--mtp", f"--mtp-profile={SHORT}", f"--mtp-json={report}", f"--mtp-baselines={self.folder}/baselines"]
        source = [] if planted.arms == "none" else [f"--mtp-source=bin:{self._wrapper(planted)}"]
        command = [sys.executable, "-m", "pytest", str(SUITES), *words, *source, f"--mtp-model={planted.model}"]
        began = time.monotonic()
        with (self.folder / "last-run.log").open("w") as log:
            status = subprocess.run(command, cwd=self.folder, stdout=log, stderr=log, check=False).returncode
        line = _ran(planted, status, (time.monotonic() - began) / 60, report)
        with self.results.open("a") as file:
            file.write(json.dumps(asdict(line)) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _command(self, word: str) -> list[str]:
        fixed = ["--profile", str(SHORT), "--baselines", str(self.folder / "baselines")]
        return [sys.executable, "-m", "pytest_mtp.cli", word, *fixed]

    def _wrapper(self, planted: Planted) -> Path:
        """A llama-server that is slower: the real one, stopped again and again."""
        thief = shlex.join([sys.executable, str(HERE / "pauser.py"), "PID", str(planted.pause)]).replace("PID", "$$")
        when = "*' --spec-type '*" if planted.arms == "mtp" else "*' --port '*"
        path = self.folder / f"llama-server-{planted.arms}-{planted.pause}"
        path.write_text(
            f'#!/bin/sh\ncase " $* " in {when}) {thief} & ;; esac\nexec {shlex.quote(str(_server()))} "$@"\n'
        )
        path.chmod(0o755)
        return path


def _server() -> Path:
    settings = plain_settings(argparse.Namespace())
    profile: Profile = load_profile(str(SHORT))
    cache = Cache(settings.cache_dir)
    return build_of(profile, source_of(settings, profile, cache), cache).server


def _ran(planted: Planted, status: int, minutes: float, report: Path) -> Ran:
    judged = load_report(report).judged[0]
    verdicts = [(one.prompt_class, one.speed) for one in judged.results]
    verdicts += [(one.rate.value, one.verdict) for one in judged.rates]
    red = [(name, verdict) for name, verdict in verdicts if verdict.outcome is Outcome.REGRESSION]
    return Ran(
        planted=planted.name,
        status=status,
        minutes=minutes,
        blocks=len(judged.campaign.valid),
        again=0 if judged.again is None else len(judged.again.valid),
        red=tuple(name for name, _ in red),
        causes=tuple(sorted({verdict.cause.value for _, verdict in red if verdict.cause is not None})),
        outcomes=dict(Counter(verdict.outcome.value for _, verdict in verdicts)),
        sentences=tuple(f"{name}: {verdict.reason}" for name, verdict in red),
    )


def table(ran: Sequence[Ran]) -> list[str]:
    """A Markdown table of all runs, a line per planted loss."""
    lines = ["| planted | runs | red | undecided | green | causes | blocks | minutes |", "| --- " * 8 + "|"]
    for name in dict.fromkeys([HEALTHY.name, *(one.name for one in LOSSES)]):
        runs = [one for one in ran if one.planted == name]
        if not runs:
            continue
        by_status = Counter(one.status for one in runs)
        causes = Counter(cause for one in runs for cause in one.causes)
        said = ", ".join(f"{cause} ({count})" for cause, count in causes.items()) or "-"
        blocks = sum(one.blocks + one.again for one in runs) / len(runs)
        minutes = sum(one.minutes for one in runs) / len(runs)
        counts = f"{len(runs)} | {by_status[1]} | {by_status[17]} | {by_status[0]}"
        lines.append(f"| {name} | {counts} | {said} | {blocks:.1f} | {minutes:.1f} |")
    return lines


if __name__ == "__main__":
    main()
