"""``pytest-mtp tune``: how many tokens to draft on this machine, as flags to copy, with what shows it.

Every depth is measured beside a plain server of its own, block by block in turn. 0: proven; 1: a cliff, or a setting
that fails; 17: not proven.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mtp.commands.resuming import keeping_blocks
from pytest_mtp.commands.soundness import judging
from pytest_mtp.commands.subject import add_subject, subject
from pytest_mtp.core.profile import Profile
from pytest_mtp.core.served_tables import Serving
from pytest_mtp.core.settings import Settings
from pytest_mtp.core.status import UNDECIDED
from pytest_mtp.core.study import Study, Suite
from pytest_mtp.errors import InputError, SettingsError
from pytest_mtp.options import add_plain

if TYPE_CHECKING:
    from pytest_mtp.core.run_report import RunReport
    from pytest_mtp.runtime.progress import Progress
    from pytest_mtp.session import Run

HELP = "say how many tokens to draft on this machine: flags to copy, and what they gain"
_BLOCKS, _FEWEST = 4, 2
_FOUND = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take a profile and what overrides it, whose prompts are asked, and how often."""
    add_subject(parser)
    add_plain(parser, "prompts", "flag-set", "isolation", "max-time", "resume", "json")
    parser.add_argument(
        "--class",
        dest="classes",
        action="append",
        default=[],
        metavar="NAME",
        help="class to ask, repeatable (default: the profile's suites.classes, else its first; of --prompts all)",
    )
    parser.add_argument(
        "--blocks", type=int, default=_BLOCKS, metavar="N", help="blocks of every setting (default: %(default)s)"
    )
    parser.add_argument(
        "--read",
        type=Path,
        metavar="FILE",
        help="show what --json wrote, and measure nothing; of several sweeps that of --flag-set",
    )


def run(parsed: argparse.Namespace) -> int:
    """Measure the sweep, show its page, and write it where --json says."""
    from pytest_mtp.reports.tune import page

    if parsed.read and parsed.mtp_json is not None:
        raise SettingsError("--read shows what --json wrote before, and there is nothing new to write: drop --json.")
    report = _read(parsed.read) if parsed.read else _measured(parsed)
    name = str(parsed.read or "the sweep")
    study = _sweep(report, name, parsed.mtp_flag_set or ())
    with judging(name):
        lines = list(page(report, study, shutil.get_terminal_size().columns))
        answer = status(study)
    for line in lines:
        sys.stdout.write(f"{line.text}\n")
    return answer


def status(study: Study) -> int:
    """What a sweep ends with: 0, 1 for a cliff or a setting that fails, 17 where nothing is proven."""
    from pytest_mtp.core.suites.draft_depth import recommendation

    if study.verdict.outcome.fails:
        return _FOUND
    return 0 if study.results and recommendation(study).proven else UNDECIDED


def wanted(parsed: argparse.Namespace) -> tuple[Settings, Profile, str]:
    """The settings, the profile with the classes and blocks that are measured, and the flag set that is varied."""
    settings, profile = subject(parsed)
    if profile.serving is not Serving.LLAMA_CPP:
        raise SettingsError(f"The depth of drafts is swept with llama.cpp, and {profile.name} serves with another.")
    if parsed.blocks < _FEWEST:
        raise SettingsError(f"--blocks is {parsed.blocks}; it must be at least {_FEWEST}, for there to be a spread.")
    if len(settings.flag_sets) > 1:
        raise SettingsError(f"One flag set is swept, not {', '.join(settings.flag_sets)}: name one.")
    suites = replace(profile.suites, classes=_classes(parsed, profile), looks=(parsed.blocks,))
    return settings, replace(profile, suites=suites), profile.measured(settings.flag_sets)[0]


def _classes(parsed: argparse.Namespace, profile: Profile) -> tuple[str, ...]:
    there = tuple(one.name for one in profile.classes)
    unknown = [name for name in parsed.classes if name not in there]
    if unknown:
        raise SettingsError(f"--class {unknown[0]}: the profile {profile.name} has {', '.join(there)}.")
    if parsed.classes:
        return tuple(dict.fromkeys(parsed.classes))
    return there if parsed.mtp_prompts is not None else profile.suites.classes


def _measured(parsed: argparse.Namespace) -> "RunReport":
    from pytest_mtp.runtime.progress import ProgressLine
    from pytest_mtp.runtime.store import write_json
    from pytest_mtp.session import Run

    settings, profile, flag_set = wanted(parsed)
    line = ProgressLine(sys.stderr)
    with keeping_blocks(settings) as journals:
        try:
            report = _swept(Run(settings=settings, profile=profile, journals=journals), flag_set, line.show)
        finally:
            line.clear()
        if settings.json is not None:
            write_json(settings.json, report)
    return report


def _swept(session: "Run", flag_set: str, progress: "Progress") -> "RunReport":
    from pytest_mtp.core.suites.draft_depth import design
    from pytest_mtp.equipment import equip
    from pytest_mtp.runtime.cache import Cache

    settings, profile = session.settings, session.profile
    with tempfile.TemporaryDirectory(prefix="pytest-mtp-tune-") as folder:
        equipment = equip(settings, profile, Cache(settings.cache_dir), Path(folder), progress)
        session.study(design(profile, flag_set), lambda: equipment, progress)
        report = session.report()
        assert report is not None
        return report


def _read(path: Path) -> "RunReport":
    from pytest_mtp.runtime.store import load_report

    stored = load_report(path)
    with judging(str(path)):
        return stored.rejudged()


def _sweep(report: "RunReport", name: str, flag_sets: Sequence[str]) -> Study:
    """The sweep of the flag set that is asked for; where none is, the only one."""
    held = {one.flag_set: one for one in report.studies if one.suite is Suite.DRAFT_DEPTH}
    if not held:
        raise InputError(f"{name} holds no sweep over draft depths: pytest-mtp tune --json FILE writes one.")
    wanted = tuple(dict.fromkeys(flag_sets)) or tuple(held)
    if unknown := [one for one in wanted if one not in held]:
        raise InputError(f"--flag-set {unknown[0]}: {name} holds sweeps of {', '.join(held)}.")
    if len(wanted) > 1:
        raise InputError(f"One sweep is shown, not those of {', '.join(wanted)}: choose one by --flag-set.")
    return held[wanted[0]]
