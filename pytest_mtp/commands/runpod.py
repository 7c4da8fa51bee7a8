"""``pytest-mtp runpod up|run|down|sweep``: a card by the hour, which is deleted whatever happens.

It needs RUNPOD_API_KEY in the environment, and spends no more than ``--limit``.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mtp.commands.runpod_words import add_order, add_words
from pytest_mtp.core.runpod.budget import MOST_HOURS, Budget, affordable, cost_lines, usd
from pytest_mtp.core.runpod.offer import Cloud, offers, passed_over
from pytest_mtp.core.runpod.order import Order
from pytest_mtp.core.runpod.pod import PREFIX
from pytest_mtp.core.runpod.script import ENVIRON, FOLDER, NOT_SET_UP, Job, pytest_words, serve_words
from pytest_mtp.core.serving import LOOPBACK, PORT
from pytest_mtp.core.status import UNDECIDED
from pytest_mtp.errors import PodLost, RentalError, SettingsError
from pytest_mtp.reports.escaping import one_line

if TYPE_CHECKING:
    from pytest_mtp.core.runpod.offer import Offer
    from pytest_mtp.runtime.runpod.api import Api
    from pytest_mtp.runtime.runpod.lease import Lease
    from pytest_mtp.runtime.runpod.records import Records
    from pytest_mtp.runtime.runpod.work import Work

HELP = "rent a card by the hour from RunPod, run the gate there, and delete it in every case"

_GRACE_S = 900
"""How long a pod whose controller is gone waits, after its work, for somebody to fetch the results."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take one of four words."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="up|run|down|sweep")
    run_it = actions.add_parser("run", help="rent, measure, fetch the results, delete; its status is that of pytest")
    add_order(run_it)
    run_it.add_argument(
        "--out", type=Path, default=Path("runpod-results"), metavar="DIR", help="results (default: %(default)s)"
    )
    add_words(run_it, "what pytest takes in the pod (default: --mtp-gpu)")
    run_it.set_defaults(act=_run)
    up = actions.add_parser("up", help="rent and set up a card for yourself; it goes after its hours")
    add_order(up)
    up.add_argument("--web", action="store_true", help="serve the model there and open its page here, until Ctrl-C")
    up.add_argument("--port", type=int, default=PORT, metavar="N", help="port of the page here (default: %(default)s)")
    add_words(up, "what `pytest-mtp serve` takes in the pod, with --web")
    up.set_defaults(act=_up)
    down = actions.add_parser("down", help="delete pods that this machine rented")
    down.add_argument("names", nargs="*", metavar="NAME", help="of these pods (default: all on record here)")
    down.set_defaults(act=_down)
    sweep = actions.add_parser("sweep", help=f"delete all pods of the account named {PREFIX}* that are too old")
    sweep.add_argument(
        "--older-than", type=float, default=MOST_HOURS, metavar="HOURS", help="how old is that (default: %(default)g)"
    )
    sweep.add_argument("--dry-run", action="store_true", help="say which, and delete none")
    sweep.set_defaults(act=_sweep)


def run(parsed: argparse.Namespace) -> int:
    """Do what was asked; SIGTERM and a closed terminal delete the pod as Ctrl-C does."""
    from pytest_mtp.runtime.runpod.heed import heeding_signals

    with heeding_signals():
        status: int = parsed.act(parsed)
        return status


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """What is to be rented, checked before anybody is asked."""

    order: Order
    budget: Budget
    gpus: tuple[str, ...]
    package: str
    agreed: bool


@contextmanager
def _connected(*, tidy: bool = True) -> Iterator[tuple["Api", "Records"]]:
    """The account and what is on record here; with ``tidy`` what a killed call has left is deleted first."""
    from pytest_mtp.runtime.progress import ProgressLine
    from pytest_mtp.runtime.runpod.api import Api, key_of_environment
    from pytest_mtp.runtime.runpod.records import Records, default_folder
    from pytest_mtp.runtime.runpod.recovery import recover

    line = ProgressLine(sys.stderr)
    records = Records(default_folder())
    try:
        with Api(key_of_environment(), lambda text: line.show(one_line(text))) as api:
            if tidy:
                recover(api, records)
            yield api, records
    finally:
        line.clear()


def _run(parsed: argparse.Namespace) -> int:
    wish = _wish(parsed)
    words = pytest_words(parsed.words, FOLDER)
    try:
        with _rented(wish, "run") as lease:
            work = _begun(lease, wish, words)
            status = work.follow()
            if status == NOT_SET_UP:
                raise RentalError("The pod could not be set up; its last lines above say why. Nothing was measured.")
            work.collect(parsed.out)
    except PodLost as error:
        sys.stderr.write(f"pytest-mtp: {one_line(str(error))} Nothing is known of the speed; run it again.\n")
        return UNDECIDED
    _tell(f"Results: {parsed.out} (judge them again with: pytest-mtp report {parsed.out / 'report.json'})")
    if status is None:
        _tell(f"The {wish.budget.hours:g} h were over before the work was; what there is of it was fetched.")
        return UNDECIDED
    return status


def _up(parsed: argparse.Namespace) -> int:
    if parsed.words and not parsed.web:
        raise SettingsError("Without --web nothing is started in the pod, so it takes no further words.")
    return _up_for_browser(parsed) if parsed.web else _up_for_shell(parsed)


def _up_for_shell(parsed: argparse.Namespace) -> int:
    wish = _wish(parsed)
    with _rented(wish, "up") as lease:
        work = _begun(lease, wish, ())
        if work.follow() != 0:
            raise RentalError("The pod could not be set up; its last lines above say why.")
        lease.keep()
        _tell(f"Pod {lease.record.name} is yours for {wish.budget.hours:g} h from its making, then it deletes itself.")
        _tell(f"  enter:  {work.shell.way.person()}")
        _tell(f"  delete: pytest-mtp runpod down {lease.record.name}")
    return 0


def _up_for_browser(parsed: argparse.Namespace) -> int:
    from pytest_mtp.runtime.port import available_port
    from pytest_mtp.runtime.runpod.web import Tunnel

    wish, port = _wish(parsed), available_port(LOOPBACK, parsed.port)
    with _rented(wish, "web") as lease:
        work = _begun(lease, wish, serve_words(parsed.words, PORT))
        log = lease.records.place(lease.record.name) / "tunnel.log"
        with Tunnel(port, PORT, log) as tunnel:
            announced = False

            def meanwhile() -> None:
                nonlocal announced
                tunnel.ensure(work.shell.way)
                if not announced and tunnel.answers():
                    announced = True
                    _tell(f"Through the tunnel: {tunnel.url}/  (Ctrl-C deletes the pod.)")

            try:
                status = work.follow(meanwhile)
            except KeyboardInterrupt:
                if not announced:
                    raise
                return 0
    if status is None:
        _tell(f"The {wish.budget.hours:g} h are over.")
        return 0
    raise RentalError(f"The server in the pod ended (status {status}); its last lines above say why.")


def _down(parsed: argparse.Namespace) -> int:
    from pytest_mtp.runtime.runpod.recovery import remove_recorded

    for name in parsed.names:
        if not name.startswith(PREFIX):
            raise SettingsError(f"{name} is no pod of ours; their names begin with {PREFIX}. Use RunPod's console.")
    with _connected() as (api, records):
        names = parsed.names or [one.name for one in records.all(api.say) if one.kept]
        remove_recorded(api, records, names)
    _tell(
        "Nothing of it is left." if names else "No pod is on record here; `pytest-mtp runpod sweep` looks for old ones."
    )
    return 0


def _sweep(parsed: argparse.Namespace) -> int:
    from pytest_mtp.runtime.runpod.recovery import remove_stale, stale_pods

    if not parsed.older_than >= 0:
        raise SettingsError(f"--older-than {parsed.older_than:g} is no number of hours.")
    with _connected(tidy=not parsed.dry_run) as (api, records):
        hours = parsed.older_than
        found = stale_pods(api, hours) if parsed.dry_run else remove_stale(api, records, hours)
    for pod in found:
        _tell(f"{pod.id} ({pod.name}), made {pod.createdAt or 'nobody knows when'}")
    _tell(f"{len(found)} {'would be deleted' if parsed.dry_run else 'deleted'}.")
    return 0


def _wish(parsed: argparse.Namespace) -> _Wish:
    from pytest_mtp.runtime.runpod.key_pair import check_programs

    order = Order(
        cloud=Cloud(parsed.cloud.upper()),
        image=parsed.image,
        min_cuda=parsed.min_cuda or None,
        disk_gb=parsed.disk,
        volume_gb=parsed.volume_gb,
        volume=parsed.volume,
        data_centers=tuple(parsed.data_center),
        hf_secret=parsed.hf_secret,
    )
    budget = Budget(limit_usd=parsed.limit, hours=parsed.hours, disk_gb=order.paid_gb)
    check_programs()
    return _Wish(order=order, budget=budget, gpus=tuple(parsed.gpu), package=parsed.package, agreed=parsed.yes)


@contextmanager
def _rented(wish: _Wish, purpose: str) -> Iterator["Lease"]:
    """A pod that is up, after its cost was said and agreed to; what it took is said at its end."""
    from pytest_mtp.runtime.runpod.lease import leased

    with _connected() as (api, records):
        able = _offers(wish, api)
        _agree(able, wish)
        with leased(api, records, wish.order, able, wish.budget, purpose) as lease:
            yield lease
        _tell(f"Spent by the list price: {usd(lease.spent_usd)}.")


def _offers(wish: _Wish, api: "Api") -> tuple["Offer", ...]:
    catalog = api.gpus(wish.order.cloud, wish.order.min_cuda)
    for why in passed_over(catalog, wish.gpus, wish.order.cloud):
        _tell(f"Passed over: {why}.")
    return affordable(offers(catalog, wish.gpus, wish.order.cloud), wish.budget)


def _agree(able: Sequence["Offer"], wish: _Wish) -> None:
    """Say what it costs, and go on with consent alone."""
    for line in cost_lines(able, wish.budget, wish.order.cloud):
        _tell(line)
    if wish.agreed:
        return
    if not sys.stdin.isatty():
        raise SettingsError("Nothing was rented: add --yes to agree to this cost where nobody can be asked.")
    sys.stdout.write("Rent it? [y/N] ")
    sys.stdout.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise SettingsError("Nothing was rented.")


def _begun(lease: "Lease", wish: _Wish, words: tuple[str, ...]) -> "Work":
    """The job, started in the pod."""
    from pytest_mtp.runtime.runpod.work import Work

    file = Path(wish.package)
    package = file if file.suffix == ".whl" and file.is_file() else None
    named = wish.package if package is None else f"{FOLDER}/{file.name}[report]"
    grace_s = _GRACE_S if words else None
    job = Job(package=named, words=words, api=lease.api.base, grace_s=grace_s, folder=FOLDER, environ=ENVIRON)
    work = Work(lease, job, lambda line: _tell(one_line(line)))
    work.begin(package)
    return work


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
