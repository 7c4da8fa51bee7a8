"""``pytest-mtp``: what is done beside a run of pytest."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pytest_mtp import __version__
from pytest_mtp.commands import cache, doctor, profile, report, serve
from pytest_mtp.commands.protocol import Command
from pytest_mtp.errors import MtpError

COMMANDS: Mapping[str, Command] = MappingProxyType(
    {"cache": cache, "doctor": doctor, "profile": profile, "report": report, "serve": serve}
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 is done, 1 is a finding, 2 is bad input."""
    parsed = _parser().parse_args(arguments)
    try:
        return COMMANDS[parsed.command].run(parsed)
    except MtpError as error:
        sys.stderr.write(f"pytest-mtp: {error}\n")
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pytest-mtp", description="Tools around `pytest --mtp` and its reports.")
    parser.add_argument("--version", action="version", version=f"pytest-mtp {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        command.add_arguments(commands.add_parser(name, help=command.HELP, description=command.__doc__))
    return parser


if __name__ == "__main__":
    sys.exit(main())
