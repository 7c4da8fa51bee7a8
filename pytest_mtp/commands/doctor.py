"""``pytest-mtp doctor``: what this machine has and lacks for a profile; with --report, why a plain arm was slow."""

import argparse
import shlex
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from pytest_mtp.commands.subject import add_subject, settings_of
from pytest_mtp.core.finding import Finding, ready
from pytest_mtp.core.served_tables import Serving
from pytest_mtp.core.settings import Mode, Settings
from pytest_mtp.errors import SettingsError

HELP = "say what this machine has and lacks for a profile"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take a profile and what overrides it, or a report."""
    add_subject(parser)
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="explain the plain arm's speed in a file written by --mtp-json"
    )


def run(parsed: argparse.Namespace) -> int:
    """Show the page; 1 when something is lacking."""
    return _explain(parsed.report) if parsed.report is not None else _examine(parsed)


def _examine(parsed: argparse.Namespace) -> int:
    from pytest_mtp.core.doctor import examine
    from pytest_mtp.inspection import inspect
    from pytest_mtp.resolution import checked_profile
    from pytest_mtp.runtime.progress import ProgressLine

    settings = settings_of(parsed)
    _refuse_running(settings)
    profile = checked_profile(settings)
    line = ProgressLine(sys.stderr)
    try:
        findings = examine(inspect(settings, profile, line.show))
    finally:
        line.clear()
    can = f"This machine can run the profile: {_same_run(parsed, settings)}"
    lacks = "This machine cannot run the profile yet: mend what is marked LACKS, then ask again."
    return _show(f"Profile {profile.name}: {profile.description}", findings, can, lacks)


def _refuse_running(settings: Settings) -> None:
    """SettingsError for servers that run already: they need nothing of this machine, and the doctor takes no URL."""
    from pytest_mtp.runtime.profiles import load_profile

    if load_profile(settings.profile, settings.assignments).serving is Serving.RUNNING:
        raise SettingsError(
            f"Profile {settings.profile} measures servers that run already and needs nothing of this machine: ask them "
            "with pytest --mtp --mtp-endpoint plain=URL --mtp-endpoint mtp=URL."
        )


def _same_run(parsed: argparse.Namespace, settings: Settings) -> str:
    """The run that was examined, as pytest takes it: every option that was given, by its longer name."""
    switch = "--mtp" if settings.mode is Mode.CPU else "--mtp-gpu"
    words = ["pytest", switch, f"--mtp-profile={settings.profile}"]
    for name, given in vars(parsed).items():
        if not name.startswith("mtp_") or name == "mtp_profile" or given is None:
            continue
        flag = f"--{name.replace('_', '-')}"
        words += [f"{flag}={one}" for one in (given if isinstance(given, list) else [given])]
    return shlex.join(words)


def _explain(path: Path) -> int:
    from pytest_mtp.core.slow_plain import slow_plain
    from pytest_mtp.runtime.store import load_report

    status = 0
    for judged in load_report(path).judged:
        title = f"Flag set {judged.campaign.flag_set}: what was recorded of the plain arm's speed"
        nothing = "Nothing that was recorded explains a slow plain arm."
        status = max(status, _show(title, slow_plain(judged.campaign), nothing, "The lines marked LACKS cost speed."))
    return status


def _show(title: str, findings: Iterable[Finding], can: str, lacks: str) -> int:
    from pytest_mtp.reports.doctor import page

    found = tuple(findings)
    ending = can if ready(found) else lacks
    for line in page(title, found, ending, shutil.get_terminal_size().columns):
        sys.stdout.write(f"{line}\n")
    return int(not ready(found))
