"""Which llama.cpp: how a user says it, and what was found."""

import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.secret import masked
from pytest_mtp.errors import SettingsError

UPSTREAM = "https://github.com/ggml-org/llama.cpp"

_FORMS = "Write release:bNUMBER, sdist:VERSION[#sha256=HEX], git:URL@REF, pr:NUMBER, dir:PATH or bin:PATH."

_SDIST = re.compile(r"(?P<version>\d+(?:\.\d+)*)(?:#sha256=(?P<sha256>[0-9a-fA-F]{64}))?")
# Up to the path: an @ before it is the user of ssh://git@host, only one behind it can split off the ref.
_HOST = re.compile(
    r"(?P<scheme>https?|ssh)://(?:(?P<user>[^/\s]+)@)?(?P<host>[^-/\s@][^/\s@]*)(?=/)|file://(?=/)|(?=/)"
)
_LOOPBACK = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?")
# What git itself allows in a name, and no leading dash, which would be read as an option.
_REF = re.compile(r"(?!-)(?!.*(?:\.\.|//|@\{))[^\s~^:?*\[\\\x00-\x1f\x7f]+")


class SourceKind(Enum):
    """Where a llama.cpp comes from."""

    RELEASE = "release"
    SDIST = "sdist"
    GIT = "git"
    DIR = "dir"
    BIN = "bin"

    @property
    def ready_made(self) -> bool:
        """Whether it is a binary that somebody else compiled, so that there is nothing to build."""
        return self in {SourceKind.RELEASE, SourceKind.BIN}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpec:
    """A llama.cpp as it was asked for; ``str()`` gives a text that ``parse_source`` reads back."""

    kind: SourceKind
    location: str
    """A tag, version, URL or path, by kind."""
    ref: str | None = None
    """Branch, tag, commit, ``pull/N/head`` or ``merge-requests/N/head``; only for ``git:``."""
    sha256: str | None = None
    """Lowercase hash of the sdist; ``None`` leaves it to the known ones."""
    backend: Backend = Backend.AUTO
    """What a ready-made binary must compute with; no part of the text: whoever knows the build sets it."""

    def __str__(self) -> str:
        ref = "" if self.ref is None else f"@{self.ref}"
        sha256 = "" if self.sha256 is None else f"#sha256={self.sha256}"
        return f"{self.kind.value}:{self.location}{ref}{sha256}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A llama.cpp as it was found."""

    kind: SourceKind
    path: Path
    """The tree; of a ready-made kind the binary itself."""
    identity: str
    """Equal exactly when the code is, as far as that can be told."""
    label: str
    """What people read: ``b11434``, ``pull/123/head @ abc1234``."""


def parse_source(text: str) -> SourceSpec:
    """Read what ``--mtp-source`` takes; ``SettingsError`` names all forms."""
    form, colon, rest = text.strip().partition(":")
    parse = {"release": _release, "sdist": _sdist, "git": _git, "pr": _pr, "dir": _dir, "bin": _bin}.get(form)
    if parse is None or not colon or not rest:
        raise _refusal(text, "is of no known form")
    return parse(text.strip(), rest)


def _release(text: str, rest: str) -> SourceSpec:
    if re.fullmatch(r"b[1-9][0-9]*", rest) is None:
        raise _refusal(text, "names no release: its tag is b and a number, such as b11434")
    return SourceSpec(kind=SourceKind.RELEASE, location=rest)


def _sdist(text: str, rest: str) -> SourceSpec:
    match = _SDIST.fullmatch(rest)
    if match is None:
        raise _refusal(text, "names no sdist: a version is digits and dots, a hash is 64 hex digits")
    version, sha256 = match["version"], match["sha256"]
    full = version if "." in version else f"{version}.0.0"
    return SourceSpec(kind=SourceKind.SDIST, location=full, sha256=sha256.lower() if sha256 else None)


def _git(text: str, rest: str) -> SourceSpec:
    match = _HOST.match(rest)
    if match is None:
        raise _refusal(text, "is no git URL: https, ssh, file or an absolute path")
    _refuse_secrets(text, match)
    if match["scheme"] == "http" and _LOOPBACK.fullmatch(match["host"]) is None:
        raise _refusal(text, "is plain http, whose code anyone on the way can exchange; use https")
    path, at, ref = rest[match.end() :].rpartition("@")
    if not at or not path.strip("/") or re.search(r"[\x00-\x1f\x7f]", path):
        raise _refusal(text, "has no repository and ref: put @REF behind the URL")
    if _REF.fullmatch(ref) is None:
        raise _refusal(text, f"has the ref {ref!r}, which is no branch, tag or commit")
    return SourceSpec(kind=SourceKind.GIT, location=match[0] + path, ref=ref)


def _refuse_secrets(text: str, match: re.Match[str]) -> None:
    """Keep tokens out of what is shown and stored: any user in https or http, a password in ssh."""
    user = match["user"]
    if user and (match["scheme"] != "ssh" or ":" in user):
        raise _refusal(
            text.replace(user, "..."),
            "holds a user or password, which would be shown in reports; use git's credential helper",
        )


def _pr(text: str, rest: str) -> SourceSpec:
    if re.fullmatch(r"[1-9][0-9]*", rest) is None:
        raise _refusal(text, "names no pull request: its number is digits")
    return SourceSpec(kind=SourceKind.GIT, location=UPSTREAM, ref=f"pull/{rest}/head")


def _dir(_text: str, rest: str) -> SourceSpec:
    return SourceSpec(kind=SourceKind.DIR, location=rest)


def _bin(_text: str, rest: str) -> SourceSpec:
    return SourceSpec(kind=SourceKind.BIN, location=rest)


def _refusal(text: str, why: str) -> SettingsError:
    return SettingsError(f"The source {masked(text)!r} {why}. {_FORMS}")
