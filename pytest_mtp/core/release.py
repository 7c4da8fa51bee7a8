"""Which files of a llama.cpp release run here, and what a refusal of the releases API means."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.source import UPSTREAM
from pytest_mtp.errors import SourceError

_NOT_FOUND = 404
_FORBIDDEN = 403
_TOO_MANY = 429

_SYSTEMS: Mapping[str, str] = MappingProxyType({"Linux": "ubuntu", "Darwin": "macos"})
_MACHINES: Mapping[str, str] = MappingProxyType(
    {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64", "s390x": "s390x"}
)
# What stands between system and machine. The one file for Apple silicon computes on the CPU and with Metal.
_FLAVOURS: Mapping[Backend, str] = MappingProxyType(
    {
        Backend.CPU: "",
        Backend.METAL: "",
        Backend.VULKAN: "vulkan-",
        Backend.CUDA: r"cuda-(?P<toolkit>\d+(?:\.\d+)*)-",
        Backend.HIP: r"rocm-(?P<toolkit>\d+(?:\.\d+)*)-",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """One file of a release, with the names that the releases API has for its facts."""

    name: str
    size: int
    """In bytes."""
    digest: str | None = None
    """``sha256:HEX``; ``None`` for files older than the API's digests."""
    browser_download_url: str


@dataclass(frozen=True, slots=True)
class Target:
    """Where a binary is to run, in the words of ``platform.system()`` and ``platform.machine()``."""

    system: str
    machine: str
    backend: Backend


def chosen_assets(tag: str, assets: Iterable[Asset], target: Target) -> tuple[Asset, ...]:
    """Return the files that belong into one folder: the one with llama-server, then the libraries it needs.

    Of several CUDA or ROCm versions the lowest, which the most drivers can run; of a tar and a zip
    the tar. ``SourceError`` lists what there is when none fits.
    """
    offered = tuple(assets)
    place = _place(target)
    pattern = re.compile(rf"llama-{tag}-bin-{place}\.(?P<packing>tar\.gz|zip)")
    fitting = [match for one in offered if place is not None and (match := pattern.fullmatch(one.name))]
    if not fitting:
        raise SourceError(_nothing_fits(tag, offered, target))
    name = min(fitting, key=_preference).string
    wanted = (name, f"cudart-{name}")
    return tuple(one for want in wanted for one in offered if one.name == want)


def expected_sha256(asset: Asset) -> str:
    """Return the lowercase hash that the file must have; ``SourceError`` when the API names none."""
    match = re.fullmatch(r"sha256:(?P<hex>[0-9a-f]{64})", asset.digest or "")
    if match is None:
        raise SourceError(
            f"The releases API names no SHA-256 for {asset.name}, so it cannot be checked and is not used. "
            "Take another release, or unpack one that you trust and name its llama-server as bin:PATH."
        )
    return match["hex"]


def refusal(tag: str, status: int, headers: Mapping[str, str]) -> str:
    """Say what an answer of the releases API other than 200 means; header names are lowercase."""
    if status == _NOT_FOUND:
        return f"llama.cpp has no release {tag}; not every number is one. {UPSTREAM}/releases lists them."
    if status in {_FORBIDDEN, _TOO_MANY}:
        return f"The releases API refuses to name the files of {tag} (HTTP {status}): {_limit(headers)}"
    return f"The releases API answers HTTP {status} when asked for {tag}; try again later, or compile a source."


_PASSING = frozenset({_TOO_MANY, 500, 502, 503, 504})


def pause_s(status: int, headers: Mapping[str, str], usual_s: float) -> float | None:
    """How long to wait before asking again: what the peer wants, else ``usual_s``; ``None`` when that is no use."""
    wait = headers.get("retry-after", "")
    asked_s = float(wait) if re.fullmatch(r"\d{1,9}", wait) else None
    if status in _PASSING:
        return usual_s if asked_s is None else asked_s
    return asked_s if status == _FORBIDDEN else None


def _limit(headers: Mapping[str, str]) -> str:
    wait, reset = headers.get("retry-after", ""), headers.get("x-ratelimit-reset", "")
    mend = "try again then, or compile a source, which needs no API."
    if re.fullmatch(r"\d{1,9}", wait):
        return f"it wants no further question for {wait} s; {mend}"
    if headers.get("x-ratelimit-remaining") == "0" and re.fullmatch(r"\d{1,10}", reset):
        until = datetime.fromtimestamp(int(reset), UTC)
        return f"this address has asked too often, until {until:%Y-%m-%d %H:%M} UTC; {mend}"
    return "a firewall or proxy may be in the way; compile a source, or unpack a release by hand and use bin:PATH."


def _place(target: Target) -> str | None:
    """Return the part of a file's name that says where it runs, as a regular expression."""
    system, machine = _SYSTEMS.get(target.system), _MACHINES.get(target.machine.lower())
    flavour = _FLAVOURS.get(target.backend)
    if system is None or machine is None or flavour is None:
        return None
    if target.backend is Backend.METAL and (system, machine) != ("macos", "arm64"):
        return None  # the files for other places have names without a flavour too, but no Metal
    return f"{system}-{flavour}{machine}"


def _preference(match: re.Match[str]) -> tuple[list[int], str]:
    toolkit = match.groupdict().get("toolkit") or "0"
    return [int(part) for part in toolkit.split(".")], match["packing"]


def _nothing_fits(tag: str, assets: Iterable[Asset], target: Target) -> str:
    found = (re.fullmatch(rf"llama-{tag}-bin-(.+)\.(?:tar\.gz|zip)", one.name) for one in assets)
    names = ", ".join(sorted(match[1] for match in found if match)) or "nothing"
    hint = " Older releases have no CUDA binary for Linux." if _is_linux_cuda(target) else ""
    return (
        f"The release {tag} of llama.cpp has no binary for {target.backend.value} on {target.system} "
        f"{target.machine}; it has: {names}.{hint} Take another release or backend, or compile it: git:{UPSTREAM}@{tag}"
    )


def _is_linux_cuda(target: Target) -> bool:
    return target.system == "Linux" and target.backend is Backend.CUDA
