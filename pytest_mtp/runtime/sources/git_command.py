"""The git command line, asked without a terminal and without the user's hooks."""

import os
import shutil
from pathlib import Path

from pytest_mtp.errors import SourceError
from pytest_mtp.runtime.child import Finished, child_environment, run_text

_TAIL_LINES = 5

# Not GIT_*: inside a hook GIT_DIR and its like would turn every command to another repository.
_ENVIRONMENT = (
    "PATH", "HOME", "LANG", "TMPDIR", "USER", "XDG_*", "SSH_AUTH_SOCK", "GIT_SSH", "GIT_SSH_*", "GIT_SSL_*",
    "GIT_CONFIG_*", "GIT_EXEC_PATH", "*_proxy", "*_PROXY", "SSL_CERT_*", "CURL_CA_BUNDLE",
)  # fmt: skip
_QUIET = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}

# A collection in the background would go on writing after the run has ended; a hook is meant for the user's own work.
_ALONE = ("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", f"core.hooksPath={os.devnull}")

# A partial clone would fetch the object that it is asked for, instead of saying that it lacks it.
_LOCAL = ("-c", "protocol.allow=never")


def run_git(folder: Path, *arguments: str) -> Finished:
    """Run git in ``folder``, asking nobody anything; ``SourceError`` when there is no git."""
    git = shutil.which("git")
    if git is None:
        raise SourceError("There is no git on the PATH; install it, or use release: or sdist: as the source.")
    return run_text([git, *_ALONE, "-C", str(folder), *arguments], child_environment(_ENVIRONMENT, _QUIET))


def commit_of(folder: Path, ref: str) -> str | None:
    """Return the full sha of the commit that ``ref`` names in that repository, or ``None``; asks no remote."""
    done = run_git(folder, *_LOCAL, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    return done.stdout.strip() if done.returncode == 0 else None


def demand(done: Finished, problem: str) -> None:
    """Raise ``SourceError`` with git's last words when the command failed."""
    if done.returncode != 0:
        tail = "\n".join(done.stderr.strip().splitlines()[-_TAIL_LINES:])
        raise SourceError(f"{problem}\ngit says: {tail}")
