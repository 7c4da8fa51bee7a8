"""``pytest-mtp calibrate``: record sessions of an unchanged build, so that the tolerance rests on their spread."""

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from pytest_mtp.commands.subject import add_subject, subject
from pytest_mtp.core.calibration import FEWEST_SESSIONS
from pytest_mtp.core.settings import Update
from pytest_mtp.errors import SettingsError
from pytest_mtp.options import add_plain

HELP = "record sessions of an unchanged build: the baseline, and the tolerance that its spread asks for"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take a profile and how many sessions."""
    add_subject(parser)
    add_plain(parser, "flag-set", "baselines")
    parser.add_argument(
        "--sessions",
        type=int,
        default=FEWEST_SESSIONS,
        metavar="N",
        help=f"sessions to add to those on record (default: {FEWEST_SESSIONS}, the fewest that calibrate)",
    )


def run(parsed: argparse.Namespace) -> int:
    """Measure and record one session after the other; each is on record before the next begins. 1: one failed."""
    from pytest_mtp.core.case import cases
    from pytest_mtp.equipment import equip
    from pytest_mtp.runtime.cache import Cache
    from pytest_mtp.runtime.progress import ProgressLine
    from pytest_mtp.session import Run

    if parsed.sessions < 1:
        raise SettingsError(f"--sessions is {parsed.sessions}; it is at least 1.")
    settings, profile = subject(parsed)
    settings = replace(settings, update=Update.SESSION)
    line = ProgressLine(sys.stderr)
    status = 0
    with tempfile.TemporaryDirectory(prefix="pytest-mtp-calibrate-") as folder:
        equipment = equip(settings, profile, Cache(settings.cache_dir), Path(folder), line.show)
        for number in range(1, parsed.sessions + 1):
            session = Run(settings=settings, profile=profile, selected=cases(profile, settings))
            for flag_set in profile.measured(settings.flag_sets):
                judged = session.conclusion(flag_set, lambda: equipment, line.show)
                line.clear()
                sys.stdout.write(f"session {number} of {parsed.sessions}, {flag_set}: {judged.notices[-1]}\n")
                sys.stdout.write(f"  {session.calibration(flag_set)}\n")
                status = status or int(flag_set not in session.recorded)
    return status
