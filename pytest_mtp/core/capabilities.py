"""Which flags a llama-server offers, read from the rows of its ``--help``.

A name that merely occurs in the text proves nothing: removed flags are
still listed, with a text that says so, and texts mention other flags.
"""

import re
from dataclasses import dataclass
from enum import Enum

from pytest_mtp.core.server_spec import MTP
from pytest_mtp.errors import InputError

_NAME = re.compile(r"(-{1,2}[A-Za-z][\w-]*)(,\s*)?")
# ik_llama.cpp indents its rows by 2 to 9; texts are indented by 34 or more in both.
_ROW = re.compile(r" {0,9}-{1,2}[A-Za-z]")
_ENV = re.compile(r"\(env: (\w+)\)")
_ALLOWED = re.compile(r"allowed values: (.+?)(?= \(|$)")
_CHOICE = re.compile(r"[a-z0-9][\w+-]*")
_MOST_LETTERS = 1 << 20
"""Ten times the longest help that there is."""
_REMOVED = "the argument has been removed"


class MtpSpelling(Enum):
    """How a build wants multi-token prediction switched on."""

    DRAFT_MTP = "--spec-type draft-mtp"
    """llama.cpp since its merge."""
    MTP = "--spec-type mtp"
    """The branch before the merge, and forks of it."""
    IK = "--spec-type mtp:n_max=N,p_min=P"
    """ik_llama.cpp: the numbers are part of the type."""
    IK_SWITCH = "-mtp"
    """Older ik_llama.cpp: a switch, with the numbers in ``--draft-max`` and ``--draft-p-min``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One row of the help."""

    names: tuple[str, ...]
    hint: str
    """What stands for the value, such as ``N`` or ``[on|off]``; empty for a switch."""
    text: str
    """The description on one line, without the environment variable."""
    removed: bool
    """Listed, and refused when used."""
    env: str | None


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The options of one binary."""

    options: tuple[Option, ...]

    def option(self, name: str) -> Option | None:
        """Find the row of that name (``--a_b`` is ``--a-b``), removed or not; ``None`` if it is not listed."""
        wanted = name.replace("_", "-") if name.startswith("--") else name
        return next((option for option in self.options if wanted in option.names), None)

    def offers(self, name: str) -> bool:
        """Whether the option can be used: listed and not removed."""
        option = self.option(name)
        return option is not None and not option.removed

    def values(self, name: str) -> tuple[str, ...]:
        """List the values that the help allows for the option; empty where it names none."""
        option = self.option(name)
        return () if option is None or option.removed else _listed(option)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that can be used."""
        return tuple(name for option in self.options if not option.removed for name in option.names)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of speculation that ``--spec-type`` lists, MTP as ``mtp``; empty where it lists none."""
        own = MtpSpelling.DRAFT_MTP.value.split()[1]
        return tuple(MTP if one == own else one for one in self.values("--spec-type") if one != "none")

    @property
    def chains(self) -> bool:
        """Whether ``--spec-type`` takes several kinds, of which the first drafts that can."""
        option = self.option("--spec-type")
        return option is not None and "comma-separated list" in option.text

    @property
    def mtp(self) -> MtpSpelling | None:
        """How to switch multi-token prediction on; ``None`` if this build has none."""
        option, types = self.option("--spec-type"), self.values("--spec-type")
        if MtpSpelling.DRAFT_MTP.value.split()[1] in types:
            return MtpSpelling.DRAFT_MTP
        if option is not None and "mtp:" in option.text:
            return MtpSpelling.IK
        if "mtp" in types:
            return MtpSpelling.MTP
        switches = ("-mtp", "--multi-token-prediction")
        return MtpSpelling.IK_SWITCH if any(map(self.offers, switches)) else None


def parse_help(text: str, *, known_by: str = "--port") -> Capabilities:
    """Read the options of a program from its ``--help``; ``InputError`` if they lack ``known_by``.

    By that option a llama-server's help is told from other texts, or another program's of llama.cpp.
    """
    if len(text) > _MOST_LETTERS:
        raise InputError(
            f"This is not the --help of a llama-server: it has {len(text)} letters, and none has above "
            f"{_MOST_LETTERS}.\nCheck that the binary is llama-server and that it runs on this machine."
        )
    blocks: list[list[str]] = []
    for line in text.splitlines():
        if _ROW.match(line):
            blocks.append([line])
        elif blocks and line.startswith(" "):
            blocks[-1].append(line)
    capabilities = Capabilities(tuple(map(_option, blocks)))
    if not capabilities.offers(known_by):
        raise InputError(
            f"This is not the --help of a llama-server: it lists {len(blocks)} options and no {known_by}.\n"
            "Check that the binary is llama-server and that it runs on this machine."
        )
    return capabilities


def _option(block: list[str]) -> Option:
    names, rest = _names(block[0])
    # Text stands at least two blanks from the hint, or on the next line when names and hint are long.
    hint, _, beside = rest.partition("  ")
    text = " ".join(" ".join([beside, *block[1:]]).split())
    env = _ENV.search(text)
    return Option(
        names=names,
        hint=hint.strip(),
        text=_ENV.sub("", text).strip(),
        removed=text.startswith(_REMOVED),
        env=env and env[1],
    )


def _names(line: str) -> tuple[tuple[str, ...], str]:
    """Take the names off the front of a row; what is left is hint and text."""
    names: list[str] = []
    at, more = len(line) - len(line.lstrip()), True
    while more and (match := _NAME.match(line, at)):
        names.append(match[1])
        at, more = match.end(), match[2] is not None
    return tuple(names), line[at:]


def _listed(option: Option) -> tuple[str, ...]:
    if match := _ALLOWED.search(option.text):
        return tuple(re.split(r",\s*", match[1].strip()))
    parts = re.split(r"[|,]", option.hint.strip("[]{}<>()"))
    # One word is a placeholder, and so are lists like "N0,N1,...": neither names a value.
    return tuple(parts) if len(parts) > 1 and all(map(_CHOICE.fullmatch, parts)) else ()
