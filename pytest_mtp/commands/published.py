"""``pytest-mtp published FILE``: tables that others published, taken apart into the factors of our own reports."""

import argparse
import shutil
import sys
import textwrap
from pathlib import Path

HELP = "take published tables apart into speedup, tokens per step and step cost"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take the file."""
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="JSON: a list of tables, each with device, model, n_max, source, harness and rows",
    )


def run(parsed: argparse.Namespace) -> int:
    """Show every table."""
    from pytest_mtp.reports.escaping import one_line
    from pytest_mtp.reports.published import lines
    from pytest_mtp.runtime.store import load_published

    width = shutil.get_terminal_size().columns
    for number, table in enumerate(load_published(parsed.file)):
        shown = list(map(one_line, lines(table)))
        said = [part for line in shown for part in (textwrap.wrap(line, width) if len(line) > width else [line])]
        sys.stdout.write("\n".join([*([""] if number else []), *said]) + "\n")
    return 0
