"""llama.cpp at a branch, tag, commit or pull request, by the git command line."""

import hashlib
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from pytest_mtp.core.source import Source, SourceSpec
from pytest_mtp.errors import SourceError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.child import Finished, child_environment, run_text
from pytest_mtp.runtime.progress import Progress

_TREE = "llama.cpp"
_SHORT = 7
_TAIL_LINES = 5

_FULL_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# Shorter ones are left to names: b11434 is a tag, and all of its digits are hexadecimal.
_SHORT_SHA = re.compile(r"[0-9a-f]{7,39}")

# Not GIT_*: inside a hook GIT_DIR and its like would turn every command to another repository.
_ENVIRONMENT = (
    "PATH", "HOME", "LANG", "TMPDIR", "USER", "XDG_*", "SSH_AUTH_SOCK", "GIT_SSH", "GIT_SSH_*", "GIT_SSL_*",
    "GIT_CONFIG_*", "GIT_EXEC_PATH", "*_proxy", "*_PROXY", "SSL_CERT_*", "CURL_CA_BUNDLE",
)  # fmt: skip
_QUIET = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}

# A collection in the background would go on writing after the run has ended.
_NO_BACKGROUND = ("-c", "gc.auto=0", "-c", "maintenance.auto=false")


def run_git(folder: Path, *arguments: str) -> Finished:
    """Run git in ``folder``, asking nobody anything; ``SourceError`` when there is no git."""
    git = shutil.which("git")
    if git is None:
        raise SourceError("There is no git on the PATH; install it, or use sdist: as the source.")
    return run_text([git, *_NO_BACKGROUND, "-C", str(folder), *arguments], child_environment(_ENVIRONMENT, _QUIET))


def commit_of(folder: Path, ref: str) -> str | None:
    """Return the full sha of the commit that ``ref`` names in that repository, or ``None``."""
    done = run_git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    return done.stdout.strip() if done.returncode == 0 else None


@dataclass(frozen=True, slots=True)
class GitFetcher:
    """``git:URL@REF``: one bare mirror per URL in the cache, and a worktree per commit.

    A worktree, not an export: llama.cpp asks git for the commit that ``--version`` shows.
    """

    def fetch(self, spec: SourceSpec, cache: Cache, progress: Progress) -> Source:
        """Look up the commit, fetch what is missing of it, and check it out once."""
        url, ref = spec.location, spec.ref or "HEAD"
        mirror = cache.entry(
            "mirror", {"name": url.rpartition("/")[2], "url": url}, lambda to: _init(to, url), progress
        )
        # Processes that fetch into one mirror at once fail on each other's locks.
        with cache.guard(mirror, progress):
            sha = _commit(mirror, url, ref, progress)
            entry = cache.entry(
                "source",
                {"name": sha[:_SHORT], "form": "git", "mirror": mirror.name, "commit": sha},
                lambda to: _check_out(mirror, sha, to / _TREE),
                progress,
            )
        label = sha[:_SHORT] if sha.startswith(ref) else f"{ref} @ {sha[:_SHORT]}"
        return Source(kind=spec.kind, path=entry / _TREE, identity=f"git-{sha}", label=label)


def _init(mirror: Path, url: str) -> None:
    # An empty template: no hook of the user's runs in a mirror.
    _demand(run_git(mirror, "init", "--quiet", "--bare", "--template="), "git cannot make a mirror")
    _demand(run_git(mirror, "config", "remote.origin.url", url), "git cannot make a mirror")


def _commit(mirror: Path, url: str, ref: str, progress: Progress) -> str:
    """Return the full sha of ``ref`` as the remote has it; a mirrored full sha needs no remote."""
    if _FULL_SHA.fullmatch(ref) and commit_of(mirror, ref):
        return ref
    progress(f"fetching {ref} of {url}")
    kept = f"refs/mtp/{hashlib.sha256(ref.encode()).hexdigest()[:16]}"
    fetched = run_git(
        mirror, "fetch", "--quiet", "--no-tags", "--filter=blob:none", "--end-of-options", "origin", f"+{ref}:{kept}"
    )
    sha = commit_of(mirror, kept if fetched.returncode == 0 else ref) if _may_look(ref, fetched) else None
    if sha is None:
        hint = (
            " A short sha is found only in what was fetched before; give all of it."
            if _SHORT_SHA.fullmatch(ref)
            else ""
        )
        _demand(fetched, f"{url} gives no {ref!r}; check the URL, the ref and the network.{hint}")
        raise SourceError(f"{ref!r} of {url} is no commit; name a branch, tag or commit.")
    return sha


def _may_look(ref: str, fetched: Finished) -> bool:
    """Whether the mirror may answer: a name that could not be fetched may be an old one, a sha is never."""
    return fetched.returncode == 0 or _SHORT_SHA.fullmatch(ref) is not None


def _check_out(mirror: Path, sha: str, tree: Path) -> None:
    # Entries are removed as folders; the mirror still lists their worktrees.
    run_git(mirror, "worktree", "prune")
    added = run_git(mirror, "worktree", "add", "--quiet", "--detach", str(tree.absolute()), sha)
    _demand(added, f"git cannot check out {sha}; its files may be missing from the mirror while the network is down.")


def _demand(done: Finished, problem: str) -> None:
    if done.returncode != 0:
        tail = "\n".join(done.stderr.strip().splitlines()[-_TAIL_LINES:])
        raise SourceError(f"{problem}\ngit says: {tail}")
