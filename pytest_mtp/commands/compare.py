"""``pytest-mtp compare BASE HEAD``: does HEAD make MTP slower than BASE, on this machine, today?

Both are built and measured in the same blocks, with the base's mtp arm a second time as control. Two reports
written by --json (or --mtp-json) are compared as they are, where they are of one machine. 0: nothing lost,
1: a loss, 17: no answer.
"""

import argparse
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mtp.commands.resuming import keeping_blocks
from pytest_mtp.commands.soundness import judging
from pytest_mtp.commands.subject import add_subject, settings_of
from pytest_mtp.core.settings import Settings, Vary
from pytest_mtp.core.status import UNDECIDED
from pytest_mtp.errors import SettingsError
from pytest_mtp.options import add_plain

if TYPE_CHECKING:
    from pytest_mtp.core.profile import Profile
    from pytest_mtp.core.run_report import RunReport
    from pytest_mtp.runtime.journal import Journals
    from pytest_mtp.runtime.progress import Progress

HELP = "say whether a branch, model or flag set makes MTP slower than another, both measured now"
_LOST = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take the two, what tells them apart, and how closely to look."""
    parser.add_argument("base", metavar="BASE", help="a source (or what --vary says), or a stored report")
    parser.add_argument("head", metavar="HEAD", help="what is judged against it")
    add_subject(parser)
    add_plain(parser, "flag-set", "vary", "tier", "equivalence", "isolation", "isolate", "max-time", "resume", "json")
    parser.add_argument(
        "--class",
        dest="classes",
        action="append",
        default=[],
        metavar="NAME",
        help="class to measure, repeatable (default: all of the profile)",
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write a comment for a pull request to FILE")


def run(parsed: argparse.Namespace) -> int:
    """Measure or read the two, show what differs, and write it where that was asked for."""
    from pytest_mtp.reports.markdown import comment
    from pytest_mtp.reports.terminal import lines
    from pytest_mtp.runtime.progress import ProgressLine
    from pytest_mtp.runtime.store import write_json, write_text

    line = ProgressLine(sys.stderr)
    with keeping_blocks(settings_of(parsed)) as journals:
        try:
            report = _stored(parsed) or _measured(parsed, line.show, journals)
        finally:
            line.clear()
        if parsed.mtp_json is not None:
            write_json(Path(parsed.mtp_json), report)
    if parsed.markdown is not None:
        write_text(parsed.markdown, comment(report))
    for one in lines(report, shutil.get_terminal_size().columns):
        sys.stdout.write(f"{one.text}\n")
    return status(report)


def status(report: "RunReport") -> int:
    """What a comparison ends with: 0, 1 for a loss, 17 for no answer."""
    outcomes = [verdict.outcome for judged in report.judged for verdict in judged.verdicts]
    if any(one.fails for one in outcomes):
        return _LOST
    return UNDECIDED if any(one.open for one in outcomes) else 0


def compared_run(settings: Settings, profile: "Profile", progress: "Progress", journals: "Journals") -> "RunReport":
    """Measure ``settings`` against its ``compare_to``; SourceError, BuildError and the like where one cannot be had."""
    from pytest_mtp.core.case import cases
    from pytest_mtp.equipment import equip
    from pytest_mtp.runtime.cache import Cache
    from pytest_mtp.session import Run

    with tempfile.TemporaryDirectory(prefix="pytest-mtp-compare-") as folder:
        session = Run(settings=settings, profile=profile, selected=cases(profile, settings), journals=journals)
        equipment = equip(settings, profile, Cache(settings.cache_dir), Path(folder), progress)
        for flag_set in profile.measured(settings.flag_sets):
            session.conclusion(flag_set, lambda: equipment, progress)
        report = session.report()
        assert report is not None
        return report


def narrowed(profile: "Profile", names: list[str]) -> "Profile":
    """The profile with these classes only; SettingsError names those that it has."""
    there = [one.name for one in profile.classes]
    unknown = [name for name in names if name not in there]
    if unknown:
        raise SettingsError(f"--class {unknown[0]}: the profile {profile.name} has {', '.join(there)}.")
    return replace(profile, classes=tuple(one for one in profile.classes if one.name in names)) if names else profile


def _measured(parsed: argparse.Namespace, progress: "Progress", journals: "Journals") -> "RunReport":
    from pytest_mtp.resolution import effective_profile

    settings = _settings(parsed)
    return compared_run(settings, narrowed(effective_profile(settings), parsed.classes), progress, journals)


def _settings(parsed: argparse.Namespace) -> Settings:
    settings = settings_of(parsed)
    own = {Vary.SOURCE: settings.source, Vary.MODEL: settings.model, Vary.FLAG_SET: settings.flag_sets}
    if own[settings.vary]:
        what = settings.vary.value
        raise SettingsError(f"BASE and HEAD are the two {what}s that are compared: drop --{what}.")
    settings = replace(settings, compare_to=parsed.base)
    match settings.vary:
        case Vary.SOURCE:
            return replace(settings, source=parsed.head)
        case Vary.MODEL:
            return replace(settings, model=parsed.head)
        case Vary.FLAG_SET:
            return replace(settings, flag_sets=(parsed.head,))


def _stored(parsed: argparse.Namespace) -> "RunReport | None":
    """The comparison of two stored reports; ``None`` where BASE and HEAD are no files of that kind."""
    names = (parsed.base, parsed.head)
    if not all(name.endswith(".json") for name in names):
        return None
    from pytest_mtp.core.stored_comparison import compared_reports
    from pytest_mtp.runtime.store import load_report

    base, head = (load_report(Path(name)) for name in names)
    settings = settings_of(parsed)
    rule = settings.tier.rule(equivalence=settings.equivalence)
    with judging(" with ".join(names)):
        return compared_reports(base, head, rule, tuple(parsed.classes))
