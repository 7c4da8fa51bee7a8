"""What can be said about a card that is to be rented."""

import argparse

from pytest_mtp import __version__
from pytest_mtp.core.runpod.offer import RTX_3090, Cloud
from pytest_mtp.core.runpod.order import CUDA, IMAGE

_HOURS = 2.0
_DISK_GB = 40
_VOLUME_GB = 100


def add_order(parser: argparse.ArgumentParser) -> None:
    """Take the card, the hours, the disks and the limit."""
    _add_cost(parser)
    _add_machine(parser)
    _add_contents(parser)


def _add_cost(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--limit", type=float, required=True, metavar="USD", help="what it may cost in all; must be given")
    add(
        "--hours",
        type=float,
        default=_HOURS,
        metavar="H",
        help="when it is deleted at the latest (default: %(default)g)",
    )
    add("--yes", action="store_true", help="agree to the cost that is said first")


def _add_machine(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--gpu",
        action=_Kinds,
        default=(RTX_3090,),
        metavar="KIND",
        help=f"card, by RunPod's name; repeatable, the next is asked for where none is free (default: {RTX_3090})",
    )
    clouds = [one.value.lower() for one in Cloud]
    add(
        "--cloud",
        choices=clouds,
        default=clouds[0],
        help="RunPod's machines, or those of others (default: %(default)s)",
    )
    add("--volume", metavar="ID", help="network volume, which stays, for models and compiled objects")
    add(
        "--volume-gb",
        type=int,
        default=_VOLUME_GB,
        metavar="GB",
        help="else a disk that goes with the pod (default: %(default)s)",
    )
    add("--disk", type=int, default=_DISK_GB, metavar="GB", help="of the container (default: %(default)s)")
    add(
        "--data-center", action="append", default=[], metavar="ID", help="where, such as that of the volume; repeatable"
    )


def _add_contents(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--image", default=IMAGE, metavar="IMAGE", help="with CUDA's compiler and sshd (default: %(default)s)")
    add("--min-cuda", default=CUDA, metavar="V", help="oldest driver, by its CUDA; '' for any (default: %(default)s)")
    add(
        "--hf-secret",
        metavar="NAME",
        help="RunPod secret that holds HF_TOKEN, for gated models; the name, not the token",
    )
    add(
        "--package",
        default=f"pytest-mtp[report]=={__version__}",
        metavar="SPEC|FILE.whl",
        help="what is installed in the pod (default: %(default)s)",
    )


def add_words(parser: argparse.ArgumentParser, what: str) -> None:
    """Take what follows ``--``."""
    parser.add_argument("words", nargs="*", metavar="-- ARGUMENT", help=what)


class _Kinds(argparse.Action):
    """Append, but put the first in the place of the default."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        before = getattr(namespace, self.dest)
        kept = () if before is self.default else before
        setattr(namespace, self.dest, (*kept, values))
