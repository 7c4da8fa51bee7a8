"""``pytest-mtp report FILE``: judge a stored report again, from its samples, and show it.

--check says whether every stored number and verdict follows from the samples, --upstream prints a text for an issue of
llama.cpp, --html writes the page. 1: a class lost, or of --check: something does not follow.
"""

import argparse
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mtp.commands.soundness import judging
from pytest_mtp.options import add_plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_mtp.core.history import Series
    from pytest_mtp.core.history_verdict import HistoryVerdict
    from pytest_mtp.core.run_report import RunReport

HELP = "judge a stored report again, from its samples, and show it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take the file, and how it is shown."""
    parser.add_argument("file", type=Path, metavar="FILE", help="a file written by --mtp-json")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--check", action="store_true", help="say what does not follow from the samples")
    how.add_argument("--upstream", action="store_true", help="print a text to paste into an issue of llama.cpp")
    how.add_argument("--html", type=Path, metavar="OUT", help="write the page that --mtp-out writes")
    parser.add_argument(
        "--history", type=Path, metavar="DIR", help="of --html: also draw, and judge FILE by, the runs of this folder"
    )
    add_plain(parser, "cache-dir")


def run(parsed: argparse.Namespace) -> int:
    """Show the report as its samples judge it now; 1 when a class lost, or a stored number does not follow."""
    from pytest_mtp.runtime.store import load_report, write_text

    stored = load_report(parsed.file)
    if parsed.check:
        return _checked(stored)
    name = str(parsed.file)
    with judging(name):
        report = stored.rejudged()
    if parsed.upstream:
        from pytest_mtp.reports.upstream import upstream

        with judging(name):
            text = upstream(report, str(Path.home()))
        sys.stdout.write(text)
    elif parsed.html is not None:
        from pytest_mtp.reports.html.page import page

        series = _series(parsed)
        verdict = _verdict(parsed, series)
        with judging(name):
            text = page(report, series, verdict)
        write_text(parsed.html, text)
    else:
        from pytest_mtp.reports.terminal import lines

        with judging(name):
            shown = [line.text for line in lines(report, shutil.get_terminal_size().columns)]
        _say(shown)
    outcomes = [verdict.outcome for one in report.judged for verdict in one.verdicts]
    outcomes += [one.verdict.outcome for one in report.studies]
    return int(any(outcome.fails for outcome in outcomes))


def _checked(stored: "RunReport") -> int:
    from pytest_mtp.core.recheck import recheck
    from pytest_mtp.reports.escaping import one_line

    found = recheck(stored)
    _say([one_line(text) for text in found] or ["Every stored number and verdict follows from the samples."])
    return int(bool(found))


def _series(parsed: argparse.Namespace) -> "tuple[Series, ...]":
    """The history beside the report; files that are no runs are named."""
    if parsed.history is None:
        return ()
    from pytest_mtp.core.history import series_of
    from pytest_mtp.options import plain_settings
    from pytest_mtp.runtime.history import History

    loaded = History(parsed.history.expanduser(), plain_settings(parsed).cache_dir).load()
    for one in loaded.unreadable:
        sys.stderr.write(f"pytest-mtp: {one.name} was left out: {one.why}\n")
    return series_of(loaded.entries)


def _verdict(parsed: argparse.Namespace, series: "tuple[Series, ...]") -> "HistoryVerdict | None":
    """What the history says of the file, where the file is of the history."""
    if not any(point.run == parsed.file.stem for one in series for point in one.points):
        return None
    from pytest_mtp.night import judged
    from pytest_mtp.options import plain_settings

    return judged(series, parsed.file.stem, plain_settings(parsed).baselines)


def _say(lines: "Sequence[str]") -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
