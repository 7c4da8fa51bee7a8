"""Run what strangers wrote without network, home and secrets, by bubblewrap; SettingsError where that cannot be.

Inside there are the system's own folders and what an ``Opening`` names, an empty /tmp that is also the home, no
interface but a loopback of its own, and no process of this machine.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.errors import SettingsError
from pytest_mtp.runtime.child import Finished, run_text

DOOR = Path("/run/mtp")
"""Where a server inside finds the one folder in which it may make its socket."""

_HOME = "/tmp"
_SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/etc/ld.so.cache",
    "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime", "/sys/devices/system",
)  # fmt: skip
_SYSTEM_OF_CARDS = ("/sys", "/etc/OpenCL", "/etc/vulkan")
# Not /opt itself: a runner of CI most often lies there, with its token.
_TOOLKITS = ("rocm*", "cuda*", "nvidia*", "intel/oneapi")
_DEVICES = ("nvidia*", "dri", "kfd", "dxg")
_ALWAYS = ("--unshare-all", "--unshare-user", "--cap-drop", "ALL", "--die-with-parent", "--new-session")
_NOT_AGAIN = "--disable-userns"
"""Newer ones can keep what runs inside from making a sandbox in the sandbox."""

# No network, so no way to it, whose address may hold a password; and what points into folders that are not there.
_LEFT_OUT = ("*_proxy", "*_PROXY", "TMPDIR", "SSL_CERT_*", "CCACHE_*", "SCCACHE_*")

_SHARD = re.compile(r"-\d{5}-of-\d{5}(?=\.gguf$)")
_CHECK_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What one program sees of this machine besides the system; what is not there is left out."""

    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    """Folders within the others that are empty inside."""
    door: Path | None = None
    """The folder that is ``DOOR`` inside."""
    folder: Path = Path(_HOME)
    """Where it starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """A bubblewrap that works here."""

    bwrap: str
    locks: tuple[str, ...] = _ALWAYS
    devices: tuple[Path, ...] = ()
    """Of the cards: who computes needs them, who compiles does not."""
    system: tuple[str, ...] = _SYSTEM

    @property
    def compiling(self) -> "Sandbox":
        """The same for compilers: no cards."""
        return replace(self, devices=())

    def command(self, argv: Sequence[str], opening: Opening) -> list[str]:
        """The command that runs ``argv`` inside."""
        return [self.bwrap, *self.locks, *self._binds(opening), "--chdir", str(opening.folder), "--", *argv]

    def _binds(self, opening: Opening) -> Iterator[str]:
        # In this order: what is named later lies over what was before.
        yield from _each("--ro-bind-try", self.system)
        # Root outside is its owner inside too, and could else set what the kernel does for everybody.
        yield from ("--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev", "--tmpfs", _HOME)
        yield from _each("--dev-bind-try", self.devices)
        yield from _each("--ro-bind-try", opening.readable)
        yield from _each("--bind", opening.writable)
        for one in opening.hidden:
            yield from ("--tmpfs", str(one))
        if opening.door is not None:
            yield from ("--bind", str(opening.door), str(DOOR))


def _each(flag: str, paths: Iterable[str | Path]) -> Iterator[str]:
    for one in paths:
        yield from (flag, str(one), str(one))


def confined(
    sandbox: Sandbox | None, argv: Sequence[str], environment: Mapping[str, str], opening: Opening
) -> tuple[list[str], dict[str, str]]:
    """The command and variables to start ``argv`` with: unchanged without a sandbox."""
    if sandbox is None:
        return list(argv), dict(environment)
    kept = {name: one for name, one in environment.items() if not any(fnmatchcase(name, out) for out in _LEFT_OUT)}
    return sandbox.command(argv, opening), {**kept, "HOME": _HOME}


def run_confined(
    sandbox: Sandbox | None, argv: Sequence[str], environment: Mapping[str, str], timeout_s: float
) -> Finished:
    """Ask a binary something, inside where there is a sandbox; ``subprocess.TimeoutExpired`` past ``timeout_s``."""
    command, seen = confined(sandbox, argv, environment, Opening(readable=program_files(argv)))
    return run_text(command, seen, timeout_s=timeout_s)


def find_sandbox(backend: Backend) -> Sandbox:
    """The sandbox of this machine, tried once; SettingsError says what lacks and what to do."""
    if sys.platform != "linux":
        raise SettingsError("--mtp-isolate needs Linux: leave it out, and measure only code that you trust.")
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise SettingsError("--mtp-isolate needs bubblewrap, and there is no bwrap: run apt install bubblewrap.")
    offers = run_text([bwrap, "--help"], {}, timeout_s=_CHECK_TIMEOUT_S)
    locks = (*_ALWAYS, _NOT_AGAIN) if _NOT_AGAIN in offers.stdout + offers.stderr else _ALWAYS
    sandbox = Sandbox(bwrap=bwrap, locks=locks)
    if backend is not Backend.CPU:
        sandbox = _with_cards(sandbox)
    _try(sandbox)
    return sandbox


def _with_cards(sandbox: Sandbox) -> Sandbox:
    toolkits = sorted(str(one) for kind in _TOOLKITS for one in Path("/opt").glob(kind))
    devices = sorted(one for kind in _DEVICES for one in Path("/dev").glob(kind))
    return replace(sandbox, system=(*_SYSTEM, *_SYSTEM_OF_CARDS, *toolkits), devices=tuple(devices))


def _try(sandbox: Sandbox) -> None:
    done = run_text(sandbox.command(["true"], Opening()), {"PATH": os.defpath}, timeout_s=_CHECK_TIMEOUT_S)
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise SettingsError(
            f"--mtp-isolate needs a bubblewrap that may make namespaces, and here it says: {said}. Allow user "
            "namespaces (sysctl user.max_user_namespaces and kernel.apparmor_restrict_unprivileged_userns; of a "
            "container its seccomp and masked /proc), or measure only code that you trust without --mtp-isolate."
        )


def program_files(argv: Sequence[str]) -> tuple[Path, ...]:
    """What a program needs to be seen: its folder, its libraries, and every file that its command names."""
    libraries = (Path(one) for one in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if one)
    named = (Path(word) for word in argv[1:] if word.startswith("/"))
    files = (shard for one in named if one.is_file() for shard in _shards(one))
    return (shown(Path(argv[0])), *(one for one in libraries if _narrow(one)), *files)


def _shards(model: Path) -> list[Path]:
    """A model in several files is told of by its first."""
    if _SHARD.search(model.name) is None:
        return [model]
    return sorted(model.parent.glob(_SHARD.sub("-*-of-*", model.name)))


def shown(binary: Path) -> Path:
    """The folder of a binary, with the libraries beside it; the binary alone where that would show a home."""
    folder = binary.absolute().parent
    return folder if _narrow(folder) else binary.absolute()


def tool_files(tools: Iterable[str | None]) -> tuple[Path, ...]:
    """What the tools of a build need to be seen: this Python, whose wheels some are, and where the others are put."""
    found = {Path(sys.prefix), Path(sys.base_prefix)}
    for tool in filter(None, tools):
        for place in (Path(tool).absolute(), Path(tool).resolve()):
            root = place.parent.parent
            # Beside ~/.local/bin or ~/bin there is a person's life.
            found |= {root, place} if _narrow(root) and not root.is_relative_to(Path.home()) else {place}
    return tuple(sorted(one for one in found if _narrow(one)))


def _narrow(path: Path) -> bool:
    """Whether a path is no folder of homes, and none around one."""
    homes = {Path.home(), Path.home().resolve(), Path("/root"), Path("/home")}
    return not any(home.is_relative_to(one) for home in homes for one in (path, path.resolve()))
