"""``pytest-mtp``: what is done beside a run of pytest."""

import argparse
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pytest_mtp import __version__
from pytest_mtp.errors import MtpError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 is done, 1 is a finding, 2 is bad input."""
    parsed = _parser().parse_args(arguments)
    try:
        status: int = parsed.run(parsed)
    except MtpError as error:
        sys.stderr.write(f"pytest-mtp: {error}\n")
        return 2
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pytest-mtp", description="Tools around `pytest --mtp` and its reports.")
    parser.add_argument("--version", action="version", version=f"pytest-mtp {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    report = commands.add_parser("report", help="judge a stored report again, from its samples, and show it")
    report.add_argument("file", type=Path, help="a file written by --mtp-json")
    report.set_defaults(run=_report)
    return parser


def _report(parsed: argparse.Namespace) -> int:
    """Show a report as its samples judge it now; 1 when a class lost."""
    from pytest_mtp.reports.terminal import lines
    from pytest_mtp.runtime.store import load_report

    stored = load_report(parsed.file)
    judged = tuple(replace(one, results=one.rejudged()) for one in stored.judged)
    width = shutil.get_terminal_size().columns
    for line in lines(replace(stored, judged=judged), width):
        sys.stdout.write(f"{line.text}\n")
    results = [result for one in judged for result in one.results]
    outcomes = [verdict.outcome for result in results for verdict in (result.speed, result.drafts)]
    return int(any(not outcome.passes and not outcome.open for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
