"""What an option is, and how its text becomes a value; SettingsError says what it takes."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_mtp.errors import SettingsError

_YES, _NO = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True, slots=True)
class Option:
    """One row: ``--mtp-NAME`` and its ini twin."""

    name: str
    parse: Callable[[str], Any]
    default: Any
    help: str
    metavar: str = ""
    many: bool = False
    switch: bool = False
    """Takes no value on the command line, and true or false in the ini file."""
    plain_help: str = ""
    """The help of a command's own ``--NAME``, where that of pytest's option speaks of what the command has not."""

    @property
    def flag(self) -> str:
        """As it is typed."""
        return f"--mtp-{self.name}"

    @property
    def key(self) -> str:
        """As the ini file and argparse name it."""
        return f"mtp_{self.name.replace('-', '_')}"

    @property
    def words(self) -> dict[str, Any]:
        """What argparse, and pytest's wrapper of it, is told of the option."""
        told: dict[str, Any] = {"dest": self.key, "default": None, "help": self.help}
        if self.switch:
            return {**told, "action": "store_true"}
        return {**told, "action": "append" if self.many else "store", "metavar": self.metavar}


def choice(kind: type[Any]) -> Callable[[str], Any]:
    """A parser of the values of an enum."""

    def parse(text: str) -> Any:
        try:
            return kind(text)
        except ValueError as error:
            raise SettingsError(f"{text!r} is none of: {', '.join(one.value for one in kind)}.") from error

    return parse


def path(text: str) -> Path:
    """A path, ``~`` being the home folder."""
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise SettingsError(f"{text} names a home folder that is not there; give another path.") from error


def file(text: str) -> Path:
    """A path that is no folder."""
    found = path(text)
    if os.path.isdir(found):  # noqa: PTH112 - Path.is_dir raises where nobody may look, and here that is no answer
        raise SettingsError(f"{text} is a folder; name a file in it.")
    return found


def folder(text: str) -> Path:
    """A path that is nothing but a folder, which may be made yet."""
    found = path(text)
    if os.path.exists(found) and not os.path.isdir(found):  # noqa: PTH110, PTH112 - as above
        raise SettingsError(f"{text} is no folder; name one, or one that is not there yet.")
    return found


def yes(text: str) -> bool:
    """True or false, in the usual words."""
    word = text.strip().lower()
    if word not in _YES | _NO:
        raise SettingsError(f"{text!r} is neither true nor false.")
    return word in _YES
