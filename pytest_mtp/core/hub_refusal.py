"""Why a file of the hub was not had, as sentences with cause and mend."""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from pytest_mtp.core.certificate import certificate_mend
from pytest_mtp.core.hub import HubFile

_NAMES = 5  # that are offered for one that is missing
_PATH_INSTEAD = "or give a path with --mtp-model"


class Refusal(Enum):
    """Why the hub, or the way to it, does not give a file."""

    GATED = "gated, no token"
    GATED_TO_TOKEN = "gated, with a token"
    NO_REPO = "no such repository, no token"
    NO_REPO_FOR_TOKEN = "no such repository, with a token"
    NO_REVISION = "no such revision"
    NO_FILE = "no such file"
    NO_TOKEN = "a token is needed"
    WRONG_TOKEN = "the token is refused"
    FORBIDDEN = "forbidden"
    DISABLED = "disabled"
    RATE = "too many requests"
    SERVER = "the hub failed"
    UNREACHABLE = "not reachable"
    CERTIFICATE = "its certificate is not accepted"
    OFFLINE = "offline by request"
    NO_HUB = "not a hub"
    CUT = "the connection broke"
    SIZE = "another size than announced"
    DISK_FULL = "the disk is full"
    DISK = "the disk refuses"
    OTHER = "something else"


PASSING = frozenset({Refusal.RATE, Refusal.SERVER, Refusal.UNREACHABLE})
"""What may be gone when it is asked again."""

UNASKED = PASSING | {Refusal.OFFLINE, Refusal.CERTIFICATE}
"""The hub said nothing about the file, so a copy that is cached is as good as it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Why a file was not had, with what helps to go on."""

    kind: Refusal
    detail: str = ""
    """The first line of what the hub or the system said."""
    wait_s: float | None = None
    """How long the hub asks to wait."""
    names: tuple[str, ...] = ()
    """Files that the repository has instead."""


_LOGIN = "log in with `hf auth login` or set HF_TOKEN"
_CACHE = "move the cache with HF_HUB_CACHE"

_SENTENCES: Mapping[Refusal, tuple[str, str]] = MappingProxyType(
    {
        Refusal.GATED: (
            "{repo} is gated: its terms must be accepted, and no token was sent",
            f"Accept them at {{page}}, then {_LOGIN}",
        ),
        Refusal.GATED_TO_TOKEN: (
            "{repo} is gated, and the account of the token that was sent has no access to it",
            "Accept its terms at {page} with that account; a fine-grained token must also allow gated repositories",
        ),
        Refusal.NO_REPO: (
            "The hub shows no repository {repo} without a token",
            f"Check the name; for a private one {_LOGIN}",
        ),
        Refusal.NO_REPO_FOR_TOKEN: (
            "The hub shows no repository {repo} to the token that was sent",
            "Check the name, and that the token's account may read it",
        ),
        Refusal.NO_REVISION: (
            "{repo} has no branch, tag or commit {revision}",
            "Give another behind the @ of --mtp-model",
        ),
        Refusal.NO_FILE: (
            "{repo} has no file {name} at {revision}{names}",
            "Give another with --mtp-model",
        ),
        Refusal.NO_TOKEN: (
            "The hub wants a token for {repo}, and none was sent",
            f"For access {_LOGIN}",
        ),
        Refusal.WRONG_TOKEN: (
            "The hub refuses the token that was sent for {repo}: it is wrong, expired or revoked",
            "Log in anew with `hf auth login`, or correct HF_TOKEN; a public repository needs none",
        ),
        Refusal.FORBIDDEN: (
            "The hub forbids to read {repo}/{name}{detail}",
            f"Give the token the right to read it, {_PATH_INSTEAD}",
        ),
        Refusal.DISABLED: (
            "{repo} was disabled on the hub",
            f"Choose another repository, {_PATH_INSTEAD}",
        ),
        Refusal.RATE: (
            "The hub answers 429 to {repo}/{name}: too many requests from here{wait}",
            "Run again after that; with a token (`hf auth login` or HF_TOKEN) more are allowed",
        ),
        Refusal.SERVER: (
            "The hub failed when it was asked for {repo}/{name}{detail}",
            f"Run again later, {_PATH_INSTEAD}",
        ),
        Refusal.UNREACHABLE: (
            "{hub} cannot be reached{detail}, and {repo}/{name} at {revision} is not in the hub's cache {cache}",
            f"Check the network, the proxy and HF_ENDPOINT, {_PATH_INSTEAD}",
        ),
        Refusal.CERTIFICATE: (
            "The certificate of {hub} is not accepted{detail}, so {repo}/{name} was not asked for",
            f"{certificate_mend('SSL_CERT_FILE', 'HF_ENDPOINT').rstrip('.')}; {_PATH_INSTEAD}",
        ),
        Refusal.OFFLINE: (
            "HF_HUB_OFFLINE forbids to ask the hub, and {repo}/{name} at {revision} is not in its cache {cache}",
            f"Unset it once to download, {_PATH_INSTEAD}",
        ),
        Refusal.NO_HUB: (
            "What answers at {hub} is no hub: it names no commit for {repo}/{name}",
            "Check HF_ENDPOINT and the proxy",
        ),
        Refusal.CUT: (
            "The connection broke while {repo}/{name} was downloaded, and asking again brought no more{detail}",
            "Run again; the file then starts from its beginning",
        ),
        Refusal.SIZE: (
            "{repo}/{name} came with another size than the hub announced{detail}",
            "Run again; if it stays, a proxy or mirror on the way changes the file",
        ),
        Refusal.DISK_FULL: (
            "The disk of the hub's cache {cache} is full",
            f"Free space, or {_CACHE}",
        ),
        Refusal.DISK: (
            "The hub's cache {cache} cannot be written{detail}",
            f"Mend that, or {_CACHE}",
        ),
        Refusal.OTHER: (
            "{repo}/{name} at {revision} cannot be had from the hub{detail}",
            f"Check the name and the network, {_PATH_INSTEAD}",
        ),
    }
)


def refusal_sentence(asked: HubFile, refused: Refused, *, hub: str, cache: str) -> str:
    """Cause and mend of a file that was not had; ``hub`` is its address, ``cache`` the folder of its cache."""
    hub = plain(hub)
    wait = "" if refused.wait_s is None else f", and asks to wait {refused.wait_s:.0f} s"
    facts = {"repo": asked.repo, "name": asked.name, "revision": asked.revision, "hub": hub, "cache": cache}
    derived = {
        "page": f"{hub}/{asked.repo}",
        "detail": f" ({refused.detail})" if refused.detail else "",
        "wait": wait,
        "names": _offer(asked.name, refused.names),
    }
    return "\n".join(f"{sentence.format(**facts, **derived)}." for sentence in _SENTENCES[refused.kind])


def plain(text: str) -> str:
    """The first line that says something, without what must not be shown: users, signatures, tokens."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    line = re.sub(r"(?<=://)[^/@\s]+@", "", line)
    line = re.sub(r"(https?://[^\s?'\"]+)\?[^\s'\"]*", r"\1", line)
    return re.sub(r"\bhf_\w{8,}", "hf_...", line).rstrip(".")


def asked_wait_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that a 429 asks to wait: by the rate limit when that is used up, else by Retry-After."""
    lower = {name.lower(): value for name, value in headers.items()}
    spent = re.search(r";\s*r\s*=\s*0\s*;\s*t\s*=\s*(\d+)", lower.get("ratelimit", ""))
    if spent:
        return float(spent[1])
    after = lower.get("retry-after", "").strip()
    return float(after) if re.fullmatch(r"[0-9]+", after) else None


def _offer(missing: str, names: Sequence[str]) -> str:
    """The names nearest to the missing one, as the end of the sentence."""
    files = [name for name in names if name.endswith(".gguf")]
    if not names:
        return ""
    if not files:
        return "; it has no GGUF file at all"
    lower = {name.lower(): name for name in files}
    near = difflib.get_close_matches(missing.lower(), lower, n=_NAMES)
    return f"; it has {', '.join([lower[name] for name in near] or sorted(files)[:_NAMES])}"
