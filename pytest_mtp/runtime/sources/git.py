"""llama.cpp at a branch, tag, commit, pull or merge request, by the git command line."""

from dataclasses import dataclass

from pytest_mtp.core.source import Source, SourceSpec
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.progress import Progress
from pytest_mtp.runtime.sources.mirror import Mirror, make_mirror

_TREE = "llama.cpp"
_SHORT = 7


@dataclass(frozen=True, slots=True)
class GitFetcher:
    """``git:URL@REF``: one mirror per URL in the cache, and a worktree per commit.

    A worktree, not an export: llama.cpp asks git for the commit that ``--version`` shows.
    """

    def fetch(self, spec: SourceSpec, cache: Cache, progress: Progress) -> Source:
        """Look up the commit, fetch what is missing of it, and check it out once."""
        url, ref = spec.location, spec.ref or "HEAD"
        folder = cache.entry(
            "mirror", {"name": url.rpartition("/")[2], "url": url}, lambda to: make_mirror(to, url), progress
        )
        mirror = Mirror(folder, url)
        # Processes that fetch into one mirror at once fail on each other's locks.
        with cache.guard(folder, progress):
            sha = mirror.commit(ref, progress)
            entry = cache.entry(
                "source",
                {"name": sha[:_SHORT], "form": "git", "mirror": folder.name, "commit": sha},
                lambda to: mirror.check_out(sha, to / _TREE, progress),
                progress,
            )
        label = sha[:_SHORT] if sha.startswith(ref) else f"{ref} @ {sha[:_SHORT]}"
        return Source(kind=spec.kind, path=entry / _TREE, identity=f"git-{sha}", label=label)
