"""Feed every reader what no writer would write, for minutes, and tell what was found.

``python -m tests.laboratory.fuzz --minutes 3 --target gguf`` takes one reader, without ``--target`` each in turn. The
GGUF header and the ``--help`` parser are searched by the branches that an input reaches, with atheris where it is
installed; the others, and those two without it, by changing sound documents. A finding is any way out but a value or
an MtpError: its input is written into ``--findings``, and its traceback is shown. 1: something was found.
"""

import argparse
import hashlib
import importlib
import importlib.util
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from pytest_mtp.errors import MtpError
from tests.laboratory.mutation import changed_bytes, changed_json
from tests.laboratory.readers import Form, Reader, readers

COVERED = ("gguf", "help")
"""Readers of no known grammar, which an input explores by the branches it reaches."""
_LONGEST_S = 20
_MOST_BYTES = 4 * 2**30
_LONGEST_INPUT = 1 << 17
_DONE = re.compile(r"Done (\d+) runs|#(\d+)\s+DONE")


class Endless(Exception):
    """A reader had not ended after seconds."""


@dataclass(slots=True)
class Campaign:
    """What became of one reader."""

    target: str
    inputs: int = 0
    refused: int = 0
    seconds: float = 0.0
    findings: dict[str, str] = field(default_factory=dict)
    """By where it happened: the traceback's last line."""

    def __str__(self) -> str:
        found = f"{len(self.findings)} findings" if self.findings else "no finding"
        refused = f" ({self.refused:,} refused)" if self.refused else ""
        return f"{self.target}: {self.inputs:,} inputs{refused} in {self.seconds / 60:.1f} minutes, {found}"


def main() -> int:
    """Run what was asked for; 1 where anything was found."""
    parsed = _parser().parse_args()
    if parsed.atheris:
        _with_coverage(parsed.target, parsed.minutes)
        return 0
    findings = Path(parsed.findings)
    findings.mkdir(parents=True, exist_ok=True)
    campaigns = [
        _covered(name, parsed.minutes, findings)
        if name in COVERED and importlib.util.find_spec("atheris")
        else changed(name, parsed.minutes, findings, parsed.seed)
        for name in ([parsed.target] if parsed.target else readers())
    ]
    sys.stdout.write(
        f"{len(campaigns)} readers, {sum(one.inputs for one in campaigns):,} inputs, "
        f"{sum(one.seconds for one in campaigns) / 60:.0f} minutes, "
        f"{sum(len(one.findings) for one in campaigns)} findings\n"
    )
    return int(any(one.findings for one in campaigns))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Feed every reader what no writer would write.")
    parser.add_argument("--minutes", type=float, default=1.0, help="for each reader (default: %(default)s)")
    parser.add_argument("--target", choices=[*readers()], help="one reader (default: each in turn)")
    parser.add_argument("--seed", type=int, default=0, help="of the changes (default: %(default)s)")
    parser.add_argument("--findings", default="findings", help="folder of the inputs found (default: %(default)s)")
    parser.add_argument("--atheris", action="store_true", help=argparse.SUPPRESS)
    return parser


def changed(name: str, minutes: float, findings: Path, seed: int) -> Campaign:
    """Read sound documents with changes in them until the time is over."""
    reader, random, campaign = readers()[name], Random(seed), Campaign(name)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, _bounded():
        while (seconds := time.monotonic() - begin) < 60 * minutes:
            data = one_change(reader, random)
            campaign.inputs += 1
            try:
                signal.alarm(_LONGEST_S)
                reader.read(data, Path(folder))
            except MtpError:
                campaign.refused += 1
            except Exception as error:  # whatever it is, it is a finding
                signal.alarm(0)
                _note(campaign, error, data, findings)
            finally:
                signal.alarm(0)
    campaign.seconds = seconds
    _say(campaign)
    return campaign


def one_change(reader: Reader, random: Random) -> bytes:
    """A sound document with a few changes, mostly such as keep its form."""
    sound = random.choice(reader.sound())
    if reader.form is Form.JSON and random.random() < 0.85:
        return changed_json(random, sound)
    return changed_bytes(random, sound)


def _note(campaign: Campaign, error: Exception, data: bytes, findings: Path) -> None:
    frames = [one for one in traceback.extract_tb(error.__traceback__) if "pytest_mtp" in one.filename]
    place = " < ".join(f"{Path(one.filename).name}:{one.lineno}" for one in reversed(frames[-2:]))
    key = f"{type(error).__name__} at {place}"
    if key not in campaign.findings:
        campaign.findings[key] = str(error)[:200]
        name = f"{campaign.target.replace(' ', '-')}-{hashlib.sha256(data).hexdigest()[:8]}"
        (findings / name).write_bytes(data)


@contextmanager
def _bounded() -> Iterator[None]:
    """Have a reader without an end, or of endless memory, end as an error that is found."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, before[1]))
    handler = signal.signal(signal.SIGALRM, _endless)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


def _endless(*_: object) -> None:
    raise Endless(f"no end after {_LONGEST_S} s")


def _covered(name: str, minutes: float, findings: Path) -> Campaign:
    """The same in a process of its own, which atheris ends at its first finding."""
    command = [sys.executable, "-m", "tests.laboratory.fuzz", "--atheris", "--target", name, "--minutes", str(minutes)]
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, env={**os.environ, "FUZZ_FOLDER": folder}, capture_output=True, check=False)
        said = done.stderr.decode(errors="replace") + done.stdout.decode(errors="replace")
        campaign = Campaign(name, seconds=time.monotonic() - begin)
        counted = [int(one[0] or one[1]) for one in _DONE.findall(said)] or [
            int(one) for one in re.findall(r"^#(\d+)\s", said, re.MULTILINE)
        ]
        campaign.inputs = max(counted, default=0)
        for path in Path(folder).glob("*-*"):
            if path.name.startswith(("crash-", "timeout-", "oom-")):
                (findings / f"{name}-{path.name}").write_bytes(path.read_bytes())
                campaign.findings[path.name] = said[-1500:]
    if done.returncode and not campaign.findings:
        campaign.findings[f"it ended with {done.returncode}"] = said[-1500:]
    _say(campaign)
    return campaign


def _with_coverage(name: str, minutes: float) -> None:
    """Search with atheris in this process; it ends by itself, in a finding or when the time is over."""
    atheris = importlib.import_module("atheris")  # which is in no extra: it has no wheel for every Python
    reader, folder = readers()[name], Path(os.environ["FUZZ_FOLDER"])
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, sound in enumerate(reader.sound()):
        (corpus / str(number)).write_bytes(sound)

    def one_input(data: bytes) -> None:
        try:
            reader.read(data, folder)
        except MtpError:
            return

    atheris.instrument_all()
    limits = [f"-max_total_time={round(60 * minutes)}", f"-timeout={_LONGEST_S}", f"-max_len={_LONGEST_INPUT}"]
    atheris.Setup(
        [
            sys.argv[0],
            *limits,
            "-rss_limit_mb=2048",
            "-print_final_stats=1",
            f"-artifact_prefix={folder}/",
            str(corpus),
        ],
        one_input,
    )
    atheris.Fuzz()


def _say(campaign: Campaign) -> None:
    sys.stdout.write("".join([f"{campaign}\n", *(f"  {at}: {why}\n" for at, why in campaign.findings.items())]))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
