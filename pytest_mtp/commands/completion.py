"""What a shell may complete behind ``pytest-mtp``, by argcomplete.

argcomplete and not shtab, since pytest itself speaks it: one ``activate-global-python-argcomplete`` completes
``pytest --mtp-...`` as well as ``pytest-mtp ...``, and no script is left behind that is of an older version.
"""

import argparse
import os
from collections.abc import Iterator
from contextlib import suppress

from pytest_mtp.commands import gate

_ASKED_BY_A_SHELL = "_ARGCOMPLETE"


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer a shell that asks, and end the process; else, and where argcomplete is not installed, do nothing."""
    if _ASKED_BY_A_SHELL not in os.environ:
        return
    with suppress(ImportError):
        import argcomplete

        _prepare(parser)
        argcomplete.autocomplete(parser)


def profiles(prefix: str, **_told: object) -> list[str]:
    """What ``--profile`` takes: shipped names and TOML files."""
    from argcomplete.completers import FilesCompleter

    from pytest_mtp.runtime.profiles import shipped

    return [*(one for one in shipped() if one.startswith(prefix)), *FilesCompleter(("toml",))(prefix)]


def _prepare(parser: argparse.ArgumentParser) -> None:
    """Tell the values of profiles, and of ``gate`` the options of pytest that are ours."""
    commands = dict(_commands(parser))
    gate.add_options_of_pytest(commands["gate"])
    for command in commands.values():
        for action in command._actions:
            if action.dest in {"mtp_profile", "copied"}:
                action.completer = profiles  # type: ignore[attr-defined]  # where argcomplete looks for it


def _commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()
