"""Which flags make a server draft as a measured one did, and under which others it was measured."""

import shlex
from collections.abc import Iterator

from pytest_mtp.core.serving import options

_OF_ONE_START = frozenset({"-m", "--model", "-a", "--alias", "--host", "--port", "--api-key-file"})
_OF_THE_GATE = frozenset({"--cache-ram", "--slots", "-lv", "--verbosity", "--metrics"})
"""What lets a server be watched, and changes no speed of a single user."""


def drafting(mtp: str, plain: str) -> str:
    """The flags that the mtp arm's command has and the plain arm's has not, as this build spells them."""
    shared = set(_flags(plain))
    return shlex.join(word for flag in _flags(mtp) if flag not in shared for word in flag)


def serving(plain: str) -> str:
    """The flags of the plain arm's command that bear on speed."""
    return shlex.join(word for flag in _flags(plain) if flag[0] not in _OF_THE_GATE for word in flag)


def _flags(command: str) -> Iterator[tuple[str, ...]]:
    return (one for one in options(shlex.split(command)) if one[0] not in _OF_ONE_START)
