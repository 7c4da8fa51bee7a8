"""``pytest-mtp fleet``: one gate over several machines.

plan FILE prints the cells that a fleet.toml asks for, and writes them as a manifest with --out. run MANIFEST runs them
here (local), on a Dask cluster (dask) or as jobs of GitHub (github: prints the matrix, and takes the jobs' results with
--artifacts); the same command again goes on where it was. report LEDGER shows what came of a run. 0: nothing lost,
1: a cell lost, 4: no machine has what a cell needs, and nothing was run, 17: a cell got no answer or was lost.
"""

import argparse
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pytest_mtp.errors import SettingsError
from pytest_mtp.options import add_plain

if TYPE_CHECKING:
    from pytest_mtp.core.fleet.manifest import Manifest
    from pytest_mtp.runtime.fleet.protocol import Executor

HELP = "measure on several machines, and show them on one page"
_LOCAL, _DASK, _GITHUB = "local", "dask", "github"
_LEDGERS = Path("fleet")
_OF_EXECUTOR = {
    _LOCAL: ("kind",),
    _DASK: ("scheduler", "tls_ca", "tls_cert", "tls_key"),
    _GITHUB: ("artifacts",),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take what is done, and with which file."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, (text, add, _) in _ACTIONS.items():
        action = actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        add(action)
        add_plain(action, "cache-dir")


def run(parsed: argparse.Namespace) -> int:
    """Do it; the exit status is that of a run of the suites, and 4 where a kind is absent."""
    return _ACTIONS[parsed.action][2](parsed)


def _plan(parsed: argparse.Namespace) -> int:
    from pytest_mtp.commands.fleet_plan import manifest_from
    from pytest_mtp.reports.fleet import plan_lines
    from pytest_mtp.runtime.store import write_json

    manifest = manifest_from(parsed.file)
    _say(plan_lines(manifest.cells, shutil.get_terminal_size().columns))
    if parsed.out is None:
        _say(["With --out MANIFEST they are written, to be run."])
    else:
        write_json(parsed.out, manifest)
        _say([f"Written to {parsed.out}; `pytest-mtp fleet run {parsed.out}` runs them."])
    return 0


def _run(parsed: argparse.Namespace) -> int:
    from pytest_mtp.commands.fleet_run import Controller, run_cells
    from pytest_mtp.options import plain_settings
    from pytest_mtp.runtime.fleet.github import matrix
    from pytest_mtp.runtime.fleet.ledger import Ledger
    from pytest_mtp.runtime.fleet.stored import load_manifest
    from pytest_mtp.runtime.history import History
    from pytest_mtp.runtime.interrupt import sigterm_as_ctrl_c
    from pytest_mtp.runtime.screen import Screen

    _check_executor(parsed)
    manifest = load_manifest(parsed.manifest)
    cells = manifest.chosen(parsed.cell)
    if parsed.executor == _GITHUB and parsed.artifacts is None:
        _say([matrix(cells)])
        return 0
    ledger = Ledger(parsed.ledger or _LEDGERS / manifest.id)
    history = None
    if parsed.history is not None:
        history = History(parsed.history.expanduser(), plain_settings(parsed).cache_dir)
    with sigterm_as_ctrl_c(), _executor(parsed, manifest) as executor, ledger.held():
        ledger.open(manifest)
        controller = Controller(ledger=ledger, history=history, screen=Screen(sys.stdout), cells=cells)
        return run_cells(controller, executor)


def _check_executor(parsed: argparse.Namespace) -> None:
    """SettingsError for what another executor takes: without it, cells would run where nobody wanted them to."""
    for executor, names in _OF_EXECUTOR.items():
        for name in names:
            if parsed.executor != executor and getattr(parsed, name):
                flag = f"--{name.replace('_', '-')}"
                raise SettingsError(
                    f"{flag} is of the executor {executor}, not of {parsed.executor}: add --executor {executor}, or "
                    f"leave {flag} away."
                )


@contextmanager
def _executor(parsed: argparse.Namespace, manifest: "Manifest") -> "Iterator[Executor]":
    """What ``--executor`` names; files that it left out are named at the end."""
    if parsed.executor == _LOCAL:
        from pytest_mtp.runtime.fleet.local import Local

        yield Local(tuple(parsed.kind))
    elif parsed.executor == _DASK:
        yield _cluster(parsed, manifest)
    else:
        from pytest_mtp.runtime.fleet.github import Artifacts

        artifacts = Artifacts(parsed.artifacts, tuple(one.kind for one in manifest.cells), manifest.id)
        yield artifacts
        for refused in artifacts.refused:
            sys.stderr.write(f"pytest-mtp: {refused.name!r} was left out: {refused.why}\n")


def _cluster(parsed: argparse.Namespace, manifest: "Manifest") -> "Executor":
    from pytest_mtp.runtime.fleet.dask_cluster import Certificates, DaskCluster

    if parsed.scheduler is None:
        raise SettingsError("The executor dask needs --scheduler ADDRESS, such as tls://controller:8786.")
    files = (parsed.tls_ca, parsed.tls_cert, parsed.tls_key)
    given = [one for one in files if one is not None]
    if given and len(given) < len(files):
        raise SettingsError("Certificates are three files: give --tls-ca, --tls-cert and --tls-key.")
    ca, certificate, key = files
    held = Certificates(ca=ca, certificate=certificate, key=key) if given else None
    return DaskCluster(address=parsed.scheduler, run_name=manifest.id, certificates=held)


def _report(parsed: argparse.Namespace) -> int:
    from pytest_mtp import __version__
    from pytest_mtp.commands.fleet_run import recorded
    from pytest_mtp.core.fleet.standing import exit_status
    from pytest_mtp.reports.fleet import table
    from pytest_mtp.runtime.fleet.ledger import Ledger
    from pytest_mtp.runtime.store import write_text

    ledger = Ledger(parsed.ledger)
    manifest = ledger.manifest()
    standings = [recorded(ledger, one) for one in manifest.cells]
    if parsed.html is not None:
        from pytest_mtp.reports.html.fleet import fleet_page

        write_text(parsed.html, fleet_page(standings, manifest.created_at, f"pytest-mtp {__version__}"))
    _say(table(standings, shutil.get_terminal_size().columns))
    return exit_status(standings)


def _of_plan(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a fleet.toml")
    parser.add_argument("--out", type=Path, metavar="MANIFEST", help="write the cells to this file, to be run")


def _of_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("manifest", type=Path, metavar="MANIFEST", help="a file written by `fleet plan --out`")
    parser.add_argument(
        "--executor", choices=(_LOCAL, _DASK, _GITHUB), default=_LOCAL, help="where they run (default: %(default)s)"
    )
    parser.add_argument(
        "--ledger", type=Path, metavar="DIR", help=f"where results are kept (default: {_LEDGERS}/ID of the manifest)"
    )
    parser.add_argument("--history", type=Path, metavar="DIR", help="keep every run in this folder too")
    parser.add_argument("--cell", action="append", default=[], metavar="ID", help="run this cell only, repeatable")
    parser.add_argument(
        "--kind", action="append", default=[], metavar="NAME", help="of local: what this machine is too, repeatable"
    )
    parser.add_argument(
        "--artifacts", type=Path, metavar="DIR", help="of github: take the results of the jobs from this folder"
    )
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of dask: such as tls://controller:8786")
    for name in ("ca", "cert", "key"):
        parser.add_argument(f"--tls-{name}", type=Path, metavar="FILE", help="of dask: PEM file; needed off loopback")


def _of_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ledger", type=Path, metavar="LEDGER", help="the folder that `fleet run` kept")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write one page over all machines")


_Add: TypeAlias = Callable[[argparse.ArgumentParser], None]
_Do: TypeAlias = Callable[[argparse.Namespace], int]
_ACTIONS: dict[str, tuple[str, _Add, _Do]] = {
    "plan": ("print the cells that a fleet.toml asks for", _of_plan, _plan),
    "run": ("run the cells of a manifest, or go on with them", _of_run, _run),
    "report": ("show what came of a run of the fleet", _of_report, _report),
}


def _say(lines: "Iterator[str] | Sequence[str]") -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
