"""The git command line, asked without a terminal and without the user's hooks."""

import os
import shutil
from pathlib import Path

from pytest_mtp.core.secret import masked
from pytest_mtp.errors import SourceError
from pytest_mtp.runtime.child import Finished, run_text, trusted_environment

_TAIL_LINES = 5

# Not GIT_*: inside a hook GIT_DIR and its like would turn every command to another repository.
_ENVIRONMENT = (
    "PATH", "HOME", "LANG", "TMPDIR", "USER", "XDG_*", "SSH_AUTH_SOCK", "GIT_SSH", "GIT_SSH_*", "GIT_SSL_*",
    "GIT_CONFIG_*", "GIT_EXEC_PATH", "GIT_HTTP_LOW_SPEED_*", "*_proxy", "*_PROXY", "SSL_CERT_*", "CURL_CA_BUNDLE",
)  # fmt: skip
_QUIET = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}

# git itself waits for ever. A server that packs a large history sends a few bytes now and then, so minutes are allowed.
_PATIENCE = {"GIT_HTTP_LOW_SPEED_LIMIT": "1000", "GIT_HTTP_LOW_SPEED_TIME": "300"}

# A collection in the background would go on writing after the run has ended; a hook is meant for the user's own work.
_ALONE = ("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", f"core.hooksPath={os.devnull}")
# A tree's own settings can name a program to ask for changes, and other repositories to fetch.
_OF_ITSELF = ("-c", "core.fsmonitor=false", "-c", "submodule.recurse=false", "-c", "fetch.recurseSubmodules=false")

# A partial clone would fetch the object that it is asked for, instead of saying that it lacks it.
_LOCAL = ("-c", "protocol.allow=never")


def run_git(folder: Path, *arguments: str) -> Finished:
    """Run git in ``folder``, asking nobody anything; ``SourceError`` when there is no git."""
    git = shutil.which("git")
    if git is None:
        raise SourceError("There is no git on the PATH; install it, or use release: or sdist: as the source.")
    patience = {name: os.environ.get(name, value) for name, value in _PATIENCE.items()}
    return run_text(
        [git, *_ALONE, *_OF_ITSELF, "-C", str(folder), *arguments], trusted_environment(_ENVIRONMENT, _QUIET | patience)
    )


def faithful(folder: Path) -> tuple[str, ...]:
    """Options under which no header of the user's configuration is sent to whom a server redirects.

    git asks for a redirected repository with every ``http.extraHeader`` of the first address, tokens included.
    """
    found = run_git(folder, "config", "--name-only", "--get-regexp", r"^http\.(.*\.)?extraheader$")
    return ("-c", "http.followRedirects=false") if found.returncode == 0 else ()


def commit_of(folder: Path, ref: str) -> str | None:
    """Return the full sha of the commit that ``ref`` names in that repository, or ``None``; asks no remote."""
    done = run_git(folder, *_LOCAL, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    return done.stdout.strip() if done.returncode == 0 else None


def demand(done: Finished, problem: str) -> None:
    """Raise ``SourceError`` with git's last words when the command failed."""
    if done.returncode != 0:
        tail = masked("\n".join(done.stderr.strip().splitlines()[-_TAIL_LINES:]))
        raise SourceError(f"{problem}\ngit says: {tail}")
