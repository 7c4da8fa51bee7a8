"""``pytest-mtp baseline``: the reviewed files that runs are judged against.

show lists what is on record, diff RUN says what a run would change, promote RUN puts it on record. RUN is a file
written by --mtp-json, or the beginning of a name in the history. Beside it only --mtp-update-baselines changes one.
"""

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mtp.commands.soundness import judging
from pytest_mtp.core.speedup import FEWEST_BLOCKS
from pytest_mtp.errors import InputError
from pytest_mtp.options import add_plain

if TYPE_CHECKING:
    from pytest_mtp.core.run_report import RunReport
    from pytest_mtp.core.sample import Campaign
    from pytest_mtp.runtime.store import Baselines

HELP = "show the baselines, or what a run would change, or put a run on record"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take what is done, and with which run."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, text in (
        ("show", "list what is on record, with its age"),
        ("diff", "say what a run would change"),
        ("promote", "put a run on record in the place of what measured the same"),
    ):
        action = actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        add_plain(action, "baselines", "cache-dir")
        if name != "show":
            action.add_argument("run", metavar="RUN", help="a stored report, or the beginning of a run's name")
            action.add_argument(
                "--history", type=Path, default=Path("history"), metavar="DIR", help="where runs are kept"
            )


def run(parsed: argparse.Namespace) -> int:
    """Do it; 1 where a file could not be read, or a run has nothing to put on record."""
    if parsed.action == "show":
        return _show(parsed)
    report = _report(parsed)
    return _promote(parsed, report) if parsed.action == "promote" else _diff(parsed, report)


def _show(parsed: argparse.Namespace) -> int:
    from pytest_mtp.reports.baselines import on_record
    from pytest_mtp.runtime.store import load_baseline

    folder, unreadable = _folder(parsed), 0
    paths = sorted(folder.glob("*/*.json"))
    if not paths:
        _say(f"{folder} holds no baselines; --mtp-update-baselines=new records one.")
    for path in paths:
        try:
            stored = load_baseline(path)
            with judging(str(path)):
                shown = on_record(str(path), stored, datetime.now(UTC))
            _say(*shown)
        except InputError as error:
            unreadable += 1
            sys.stderr.write(f"pytest-mtp: {error}\n")
    return int(unreadable > 0)


def _diff(parsed: argparse.Namespace, report: "RunReport") -> int:
    baselines = _baselines(parsed, report)
    for judged in report.judged:
        _say(*_difference(parsed.run, baselines, judged.campaign))
    return _empty(report)


def _promote(parsed: argparse.Namespace, report: "RunReport") -> int:
    from pytest_mtp.core.baseline import Recorded
    from pytest_mtp.reports.escaping import for_log

    baselines, status = _baselines(parsed, report), 0
    for judged in report.judged:
        campaign = judged.campaign
        why = _refusal(judged.compared is not None, bool(campaign.failures), len(campaign.valid))
        if why is not None:
            _say(for_log(f"{campaign.flag_set}: not put on record: {why}."))
            status = 1
            continue
        with judging(parsed.run):  # else no run could be judged against it
            judged.rejudged()
        _say(*_difference(parsed.run, baselines, campaign))
        recorded = Recorded(report.created_at, report.tool, campaign)
        baselines.save(baselines.load().with_record(recorded))
        _say(for_log(f"{campaign.flag_set}: on record in {baselines.path}; review and commit it."))
    return status or _empty(report)


def _empty(report: "RunReport") -> int:
    """1 where a run has nothing to put on record, which is said."""
    if not report.judged:
        _say("Nothing was measured in this run.")
    return int(not report.judged)


def _difference(run: str, baselines: "Baselines", campaign: "Campaign") -> list[str]:
    from pytest_mtp.reports.baselines import difference

    sessions = baselines.load().sessions(campaign)
    with judging(f"{run} or {baselines.path}" if sessions else run):
        return difference(str(baselines.path), sessions, campaign, datetime.now(UTC))


def _refusal(compared: bool, failed: bool, blocks: int) -> str | None:  # noqa: FBT001 - facts, not switches
    """Why a campaign is no baseline; ``None`` where it can be one."""
    if compared:
        return "it was compared with another build instead of measured alone"
    if failed or blocks < FEWEST_BLOCKS:
        return "an arm failed, or it has fewer than two valid blocks"
    return None


def _report(parsed: argparse.Namespace) -> "RunReport":
    from pytest_mtp.options import plain_settings
    from pytest_mtp.runtime.history import History
    from pytest_mtp.runtime.store import load_report

    path = Path(parsed.run).expanduser()
    if path.suffix == ".json" or path.exists():
        return load_report(path)
    return History(parsed.history.expanduser(), plain_settings(parsed).cache_dir).report(parsed.run)


def _folder(parsed: argparse.Namespace) -> Path:
    from pytest_mtp.options import plain_settings

    return plain_settings(parsed).baselines


def _baselines(parsed: argparse.Namespace, report: "RunReport") -> "Baselines":
    from pytest_mtp.core.fingerprint import Fingerprint
    from pytest_mtp.runtime.store import Baselines

    return Baselines(_folder(parsed), Fingerprint(report.machine), report.profile)


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
