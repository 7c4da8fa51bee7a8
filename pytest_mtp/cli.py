# PYTHON_ARGCOMPLETE_OK - by this mark a shell finds out that it may ask for completions
"""``pytest-mtp``: what is done beside a run of pytest."""

import argparse
import io
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from pytest_mtp import __version__
from pytest_mtp.commands import (
    baseline,
    bisect,
    cache,
    calibrate,
    compare,
    curve,
    doctor,
    fleet,
    gate,
    history,
    init,
    profile,
    published,
    report,
    runpod,
    serve,
    tune,
)
from pytest_mtp.commands.completion import complete
from pytest_mtp.commands.protocol import Command
from pytest_mtp.errors import MtpError

COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        "baseline": baseline,
        "bisect": bisect,
        "cache": cache,
        "calibrate": calibrate,
        "compare": compare,
        "curve": curve,
        "doctor": doctor,
        "fleet": fleet,
        "gate": gate,
        "history": history,
        "init": init,
        "profile": profile,
        "published": published,
        "report": report,
        "runpod": runpod,
        "serve": serve,
        "tune": tune,
    }
)


_INTERRUPTED, _NO_READER = 130, 141
"""What a shell reports of a program that Ctrl-C ended, and of one whose reader went away."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 is done, 1 is a finding, 2 is bad input, 130 is Ctrl-C."""
    _speakable()
    parsed = _parsed(arguments)
    try:
        status = COMMANDS[parsed.command].run(parsed)
        sys.stdout.flush()
    except MtpError as error:
        sys.stderr.write(f"pytest-mtp: {_harmless(str(error))}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        return _INTERRUPTED
    except BrokenPipeError:  # as of `| head -1`: whoever read has read enough
        _silence()
        return _NO_READER
    except OSError as error:
        _silence()
        sys.stderr.write(f"pytest-mtp: {error}. Mend its rights, free space, or name another.\n")
        return 2
    return status


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line; what a command does not know is an error, unless it passes that on."""
    parser = _parser()
    complete(parser)
    parsed, rest = parser.parse_known_args(arguments)
    if rest and not getattr(COMMANDS[parsed.command], "PASSES_ON", False):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    parsed.passed_on = rest
    return parsed


def _harmless(text: str) -> str:
    """An error's sentences, whose file names and quotations may hold what moves a cursor."""
    from pytest_mtp.reports.escaping import one_line

    return "\n".join(map(one_line, text.splitlines()))


def _speakable() -> None:
    """Have streams that take every text: also without one, and in a locale that lacks its letters."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - until the end
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _silence() -> None:
    """Let what standard output did not take go nowhere: the interpreter would try again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pytest-mtp", description="Tools around `pytest --mtp` and its reports.")
    parser.add_argument("--version", action="version", version=f"pytest-mtp {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        description = (command.__doc__ or "").replace("``", "`")
        command.add_arguments(commands.add_parser(name, help=command.HELP, description=description))
    return parser


if __name__ == "__main__":
    sys.exit(main())
