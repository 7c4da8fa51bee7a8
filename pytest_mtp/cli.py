# PYTHON_ARGCOMPLETE_OK - by this mark a shell finds out that it may ask for completions
"""``pytest-mtp``: what is done beside a run of pytest."""

import argparse
import io
import os
import shutil
import sys
import textwrap
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

SECTIONS: Mapping[str, Mapping[str, Command]] = MappingProxyType(
    {
        "begin": {"doctor": doctor, "gate": gate, "init": init, "serve": serve},
        "measure": {"compare": compare, "bisect": bisect, "tune": tune, "curve": curve, "calibrate": calibrate},
        "read": {"report": report, "baseline": baseline, "history": history, "published": published},
        "elsewhere": {"fleet": fleet, "runpod": runpod},
        "keep": {"profile": profile, "cache": cache},
    }
)
"""The commands as a reader looks for them: the groups of ``--help``, by title."""

COMMANDS: Mapping[str, Command] = MappingProxyType(
    {name: command for commands in SECTIONS.values() for name, command in commands.items()}
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
    parser = argparse.ArgumentParser(
        prog="pytest-mtp",
        description="Tools around `pytest --mtp` and its reports.",
        epilog=_overview(shutil.get_terminal_size().columns - 2),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"pytest-mtp {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", help="one of those below")
    for name, command in COMMANDS.items():
        description = (command.__doc__ or "").replace("``", "`")
        command.add_arguments(commands.add_parser(name, description=description))
    return parser


def _overview(columns: int) -> str:
    """The commands in their groups, each with what it is for: argparse itself knows one list of them alone."""
    lines: list[str] = []
    for title, commands in SECTIONS.items():
        lines.append(f"{title}:")
        for name, command in commands.items():
            told = f"  {name:11}{command.HELP}"
            lines += textwrap.wrap(told, columns, subsequent_indent=" " * 13, break_on_hyphens=False)
        lines.append("")
    return "\n".join([*lines, "`pytest-mtp COMMAND --help` says more about each."])


if __name__ == "__main__":
    sys.exit(main())
