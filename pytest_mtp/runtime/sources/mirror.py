"""What was fetched of one repository, so that a commit is fetched once and found again without network."""

import hashlib
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pytest_mtp.core.git_refusal import git_mend
from pytest_mtp.errors import SourceError
from pytest_mtp.runtime.child import Finished
from pytest_mtp.runtime.progress import Progress
from pytest_mtp.runtime.sources.git_command import commit_of, demand, faithful, run_git

_FULL_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# Shorter ones are left to names: b11434 is a tag, and all of its digits are hexadecimal.
_SHA = re.compile(r"[0-9a-f]{7,64}")

# Requests come last: a project of years has tens of thousands.
_SEARCHES = (("branches and tags", ("heads", "tags")), ("pull and merge requests", ("pull", "merge-requests")))

_NO_BLOBS = ("--filter=blob:none",)
_ALL_BLOBS = ("--refetch", "--no-filter")


def make_mirror(folder: Path, url: str) -> None:
    """Make an empty mirror of ``url`` in an empty folder."""
    demand(run_git(folder, "init", "--quiet", "--bare", "--template="), "git cannot make a mirror")
    demand(run_git(folder, "config", "remote.origin.url", url), "git cannot make a mirror")


@dataclass(frozen=True, slots=True)
class Mirror:
    """A bare repository in the cache; its commits come with history, and their files when checked out.

    ::

        refs/mtp/asked/HASH    what a name that was asked for was, as of the last time
        refs/mtp/KIND/...      heads, tags, pull, merge-requests: after a search for a sha
    """

    folder: Path
    url: str

    def commit(self, ref: str, progress: Progress) -> str:
        """Return the full sha of ``ref`` as the remote has it now; only a sha is ever answered without it.

        A name that cannot be fetched is refused, also when the mirror knows an older commit of
        it: who measures a branch means today's.
        """
        if _FULL_SHA.fullmatch(ref) and commit_of(self.folder, ref):
            return ref
        progress(f"fetching {ref} of {self.url}")
        asked = f"refs/mtp/asked/{hashlib.sha256(ref.encode()).hexdigest()[:16]}"
        fetched = self._fetch(*_NO_BLOBS, refspecs=[f"+{ref}:{asked}"])
        if fetched.returncode == 0:
            found = commit_of(self.folder, asked)
        elif _SHA.fullmatch(ref):
            found = commit_of(self.folder, ref) or self._search(ref, fetched, progress)
        else:
            found = None
        if found is None:
            short = bool(_SHA.fullmatch(ref) and not _FULL_SHA.fullmatch(ref))
            mend = git_mend(fetched.stderr, short_sha=short)
            demand(fetched, f"{self.url} gives no {ref!r}; {mend}{self._memory(asked)}")
            raise SourceError(f"{ref!r} of {self.url} is no commit; name a branch, tag or commit.")
        return found

    def check_out(self, sha: str, tree: Path, progress: Progress) -> None:
        """Make ``tree`` a worktree of that commit; fetches its files where the mirror has none yet."""
        added = self._add_worktree(sha, tree)
        if added.returncode != 0 and "promisor" in added.stderr:
            # A server may leave files out when asked to, and then refuse to give them one by one.
            progress(f"fetching all files of {self.url}")
            kinds = [kind for _, kinds in _SEARCHES for kind in kinds]
            if self._fetch_all(kinds, _ALL_BLOBS).returncode == 0:
                added = self._add_worktree(sha, tree)
        demand(
            added, f"git cannot check out {sha}; its files may be missing from the mirror while the network is down."
        )

    def _fetch(self, *options: str, refspecs: list[str]) -> Finished:
        words = ("fetch", "--quiet", "--no-tags", *options, "--end-of-options", "origin", *refspecs)
        return run_git(self.folder, *faithful(self.folder), *words)

    def _fetch_all(self, kinds: Iterable[str], options: tuple[str, ...]) -> Finished:
        refspecs = [f"+refs/{kind}/*:refs/mtp/{kind}/*" for kind in kinds]
        return self._fetch("--prune", *options, refspecs=refspecs)

    def _search(self, sha: str, refused: Finished, progress: Progress) -> str | None:
        """Look for a commit by fetching all that has a name: few servers know short shas, and some no full ones."""
        if _FULL_SHA.fullmatch(sha) and "not our ref" in refused.stderr:
            return None  # the server has looked for the commit itself
        for what, kinds in _SEARCHES:
            progress(f"looking for {sha} in all {what} of {self.url}")
            if self._fetch_all(kinds, _NO_BLOBS).returncode != 0:
                return None
            if found := commit_of(self.folder, sha):
                return found
        return None

    def _add_worktree(self, sha: str, tree: Path) -> Finished:
        # Entries are removed as folders; the mirror still lists their worktrees.
        shutil.rmtree(tree, ignore_errors=True)
        run_git(self.folder, "worktree", "prune")
        words = ("worktree", "add", "--quiet", "--detach", str(tree.absolute()), sha)
        return run_git(self.folder, *faithful(self.folder), *words)

    def _memory(self, asked: str) -> str:
        old = commit_of(self.folder, asked)
        return f" When last fetched it was {old}: to measure that again, name it by this sha." if old else ""
