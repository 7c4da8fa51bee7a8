"""``pytest-mtp report FILE``: judge a stored report again, from its samples, and show it."""

import argparse
import shutil
import sys
from dataclasses import replace
from pathlib import Path

HELP = "judge a stored report again, from its samples, and show it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take the file."""
    parser.add_argument("file", type=Path, metavar="FILE", help="a file written by --mtp-json")


def run(parsed: argparse.Namespace) -> int:
    """Show the report as its samples judge it now; 1 when a class lost."""
    from pytest_mtp.reports.terminal import lines
    from pytest_mtp.runtime.store import load_report

    stored = load_report(parsed.file)
    judged = tuple(one.rejudged() for one in stored.judged)
    width = shutil.get_terminal_size().columns
    for line in lines(replace(stored, judged=judged), width):
        sys.stdout.write(f"{line.text}\n")
    outcomes = [verdict.outcome for one in judged for verdict in one.verdicts]
    return int(any(not outcome.passes and not outcome.open for outcome in outcomes))
