"""Let git itself search the history between two commits, asking us about each commit that it chooses.

``git bisect run`` works on a worktree of the mirror, which gives it refs of its own, so that several bisects of one
repository do not meet. No file is checked out there: what is measured is the tree that ``git:URL@SHA`` fetches, which
knows what to do with a server that leaves files out. Every run begins anew; commits that were measured answer at once.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from pytest_mtp.core.bisection import Answer
from pytest_mtp.core.source import SourceKind, SourceSpec
from pytest_mtp.errors import SettingsError, SourceError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.interrupt import sigterm_as_ctrl_c
from pytest_mtp.runtime.progress import Progress
from pytest_mtp.runtime.sources import fetch_source
from pytest_mtp.runtime.sources.git_command import demand, run_git

# An interpreter that breaks ends with 1 or 2, which git would take for a bad commit: the step says its answers by
# other numbers, and whatever is none of these ends the bisect.
SAID = {Answer.GOOD: 40, Answer.BAD: 41, Answer.SKIP: 42}
_CASES = " ".join(f"{number}) exit {answer.value};;" for answer, number in SAID.items())
_GUARD = f'"$@"; case $? in {_CASES} *) exit 128;; esac'

# Of git's own variables only those that say how to reach a server; the rest would turn it to another repository.
_HARMLESS = ("GIT_SSH", "GIT_SSH_*", "GIT_SSL_*", "GIT_CONFIG_*", "GIT_EXEC_PATH")


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What lies between two commits of one repository."""

    url: str
    repository: Path
    """Its mirror."""
    good: str
    """Full sha of the good end."""
    commits: tuple[str, ...]
    """Those that touch what is built, oldest first; the last is in its build the bad end."""
    behind: int
    """How many commits lie between, with those that touch nothing that is built."""
    paths: tuple[str, ...]

    def source(self, sha: str) -> str:
        """Source text of one commit."""
        return f"git:{self.url}@{sha}"


@dataclass(frozen=True, slots=True)
class Commit:
    """What people read of a commit."""

    subject: str
    author_date: str


def history(good: SourceSpec, bad: SourceSpec, paths: tuple[str, ...], cache: Cache, progress: Progress) -> History:
    """Fetch both ends and list what lies between; SettingsError where the good one is no ancestor of the bad one."""
    (url, old), (other, new) = (_located(one, cache, progress) for one in (good, bad))
    if url != other:
        raise SettingsError(f"GOOD is of {url}, BAD of {other}: commits are bisected within one repository.")
    # Both are fetched, so that the mirror has both; trees of the user's own are mirrored too.
    old_tree, _ = (fetch_source(_spec(url, sha), cache, progress).path for sha in (old, new))
    repository = _repository(old_tree)
    if run_git(repository, "merge-base", "--is-ancestor", old, new).returncode != 0:
        mend = "GOOD is the older one, also with --find faster; a shallow clone may lack what lies between."
        raise SettingsError(f"GOOD {old[:7]} is no ancestor of BAD {new[:7]}: {mend}")
    between = f"{old}..{new}"
    commits = tuple(_lines(repository, "rev-list", "--reverse", "--topo-order", between, "--", *paths))
    behind = int(_lines(repository, "rev-list", "--count", between)[0])
    return History(url=url, repository=repository, good=old, commits=commits, behind=behind, paths=paths)


def _located(spec: SourceSpec, cache: Cache, progress: Progress) -> tuple[str, str]:
    """Repository and full sha of an end; a tree is taken for the commit that is checked out there."""
    source = fetch_source(spec, cache, progress)
    sha = source.identity.removeprefix("git-")
    if spec.kind is SourceKind.GIT:
        return spec.location, sha
    if source.identity == sha or "+dirty" in sha:
        raise SettingsError(f"{spec} is no commit as it lies there: commit its changes, or give git:URL@REF.")
    repository = _repository(source.path)
    return str(repository.parent if repository.name == ".git" else repository), sha


def _spec(url: str, sha: str) -> SourceSpec:
    return SourceSpec(kind=SourceKind.GIT, location=url, ref=sha)


def _repository(tree: Path) -> Path:
    """The repository that a worktree belongs to."""
    return (tree / _lines(tree, "rev-parse", "--git-common-dir")[0]).resolve()


def commit(repository: Path, sha: str) -> Commit:
    """Subject and author date."""
    subject, date = _lines(repository, "show", "--no-patch", "--format=%s%n%aI", sha)
    return Commit(subject, date)


def chosen(worktree: Path) -> str:
    """The commit that git wants to know about."""
    return _lines(worktree, "rev-parse", "--verify", "BISECT_HEAD")[0]


@contextmanager
def started(history: History, worktree: Path) -> Iterator[None]:
    """Have git begin anew in a worktree of its own, which is gone afterwards."""
    repository = history.repository
    _remove(repository, worktree)
    bad = history.commits[-1]
    added = run_git(repository, "worktree", "add", "--no-checkout", "--detach", str(worktree), bad)
    demand(added, "git cannot make a worktree to bisect on.")
    try:
        ends = ("--no-checkout", bad, history.good)
        demand(run_git(worktree, "bisect", "start", *ends, "--", *history.paths), "git cannot bisect.")
        yield
    finally:
        _remove(repository, worktree)


def _remove(repository: Path, worktree: Path) -> None:
    shutil.rmtree(worktree, ignore_errors=True)
    run_git(repository, "worktree", "prune")


def run_steps(worktree: Path, step: Sequence[str], log: Path) -> None:
    """Have git ask ``step``, with two numbers behind its words, until it knows or a step says none of ``SAID``.

    The first number is a file that ends when this process does, however that happens; the second is
    this process's standard error, for what the step tells its user. Git's words go to ``log``.
    """
    ours, lifeline = os.pipe()[::-1]
    user = os.dup(2)
    words = ["git", "-C", str(worktree), "bisect", "run", "sh", "-c", _GUARD, "sh", *step, str(lifeline), str(user)]
    try:
        with sigterm_as_ctrl_c(), log.open("ab") as output:
            git = subprocess.Popen(
                words,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for us, who let the step end by itself
                pass_fds=(lifeline, user),
            )
            os.close(lifeline)
            try:
                git.wait()
            except BaseException:
                os.close(ours)
                ours = -1
                git.wait()
                raise
    finally:
        for one in (ours, user):
            with suppress(OSError):
                os.close(one)


def _environment() -> dict[str, str]:
    """All of ours, since the step measures with it."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or any(fnmatchcase(name, one) for one in _HARMLESS)
    }


def suspects(history: History, worktree: Path) -> tuple[str, ...]:
    """The commits of which one made the change, as far as git knows, oldest first; the last is known to be bad."""
    refs = _lines(worktree, "for-each-ref", "--format=%(objectname) %(refname)", "refs/bisect/")
    good = [sha for sha, _, name in (one.partition(" ") for one in refs) if name.startswith("refs/bisect/good-")]
    order = ("--reverse", "--topo-order", "refs/bisect/bad", "--not", *good)
    return tuple(_lines(worktree, "rev-list", *order, "--", *history.paths))


def _lines(folder: Path, *arguments: str) -> list[str]:
    done = run_git(folder, *arguments)
    demand(done, f"git cannot answer in {folder}.")
    if not done.stdout.strip() and arguments[0] != "rev-list":
        raise SourceError(f"git {arguments[0]} said nothing in {folder}; remove the folder and begin anew.")
    return done.stdout.splitlines()
