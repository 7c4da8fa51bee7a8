"""llama.cpp that is on this disk already: a tree, or a binary."""

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_mtp.core.source import Source, SourceSpec
from pytest_mtp.errors import SourceError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.progress import Progress
from pytest_mtp.runtime.sources.git_command import commit_of, run_git

_DIGITS = 12
_SHORT = 7
_LIBRARY = re.compile(r"\.(so|dylib)(\.|$)")


@dataclass(frozen=True, slots=True)
class DirFetcher:
    """``dir:PATH``: a tree that stays where it is, with changes or without."""

    def fetch(self, spec: SourceSpec, cache: Cache, progress: Progress) -> Source:
        """Find out what the tree is now; a change of any file that is built gives another identity."""
        tree = _place(spec.location)
        if not _is_file(tree / "CMakeLists.txt"):
            raise SourceError(f"{tree} holds no CMakeLists.txt; give the top folder of a llama.cpp tree as dir:PATH.")
        sha = _checkout_commit(tree)
        if sha is None:
            digest = _digest(tree, _files(tree))
            return Source(kind=spec.kind, path=tree, identity=f"dir-{digest}", label=tree.name)
        changes = _changes(tree)
        identity, label = f"git-{sha}", f"{tree.name} @ {sha[:_SHORT]}"
        if changes:
            identity, label = f"{identity}+dirty-{_digest(tree, changes)}", f"{label}+dirty"
        return Source(kind=spec.kind, path=tree, identity=identity, label=label)


@dataclass(frozen=True, slots=True)
class BinFetcher:
    """``bin:PATH``: a llama-server that somebody else compiled."""

    def fetch(self, spec: SourceSpec, cache: Cache, progress: Progress) -> Source:
        """Find the binary and hash it, and the libraries beside it: what is measured is mostly in those."""
        binary = _place(spec.location)
        if not _is_file(binary):
            raise SourceError(f"There is no file {binary}; give the path of a llama-server as bin:PATH.")
        if not os.access(binary, os.X_OK):
            raise SourceError(f"{binary} is not executable; give a llama-server as bin:PATH, or run: chmod +x {binary}")
        digest = _program_digest(binary)[:_DIGITS]
        return Source(kind=spec.kind, path=binary, identity=f"bin-{digest}", label=f"{binary.name} {digest[:_SHORT]}")


def _program_digest(binary: Path) -> str:
    found = hashlib.sha256()
    for path in (binary, *sorted(one for one in binary.resolve().parent.iterdir() if _LIBRARY.search(one.name))):
        with path.open("rb") as file:
            found.update(hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()


def _place(location: str) -> Path:
    try:
        return Path(location).expanduser().absolute()
    except RuntimeError as error:
        raise SourceError(f"{location} names a home folder that is not there; give another path.") from error


def _is_file(path: Path) -> bool:
    """Whether it is one; ``SourceError`` where nobody may look."""
    try:
        return path.is_file()
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}. Mend its rights or give another path.") from error


def _checkout_commit(tree: Path) -> str | None:
    """Return the commit that is checked out at ``tree`` itself, not in a repository around it."""
    if not (tree / ".git").exists():
        return None
    return commit_of(tree, "HEAD")


def _changes(tree: Path) -> list[Path]:
    """Return the files that differ from the commit or that it does not know; ignored ones do not count."""
    status = run_git(tree, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
    if status.returncode != 0:
        raise SourceError(f"git cannot tell what was changed in {tree}: {status.stderr.strip()}")
    return sorted(tree / line[3:] for line in status.stdout.split("\0") if line)


def _files(folder: Path) -> Iterator[Path]:
    """Walk in a fixed order, past git's own files and past build folders, which change with every build."""
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or not path.is_dir():
            yield path
        elif path.name != ".git" and not (path / "CMakeCache.txt").exists():
            yield from _files(path)


def _digest(tree: Path, files: Iterator[Path] | list[Path]) -> str:
    """Hash names, sizes and times: reading a whole tree costs more than a needless rebuild."""
    digest = hashlib.sha256()
    for path in files:
        facts = _facts(path)
        digest.update(f"{path.relative_to(tree)}\0{facts}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:_DIGITS]


def _facts(path: Path) -> str:
    try:
        stat = path.lstat()
    except FileNotFoundError:
        return "gone"
    return f"{stat.st_size} {stat.st_mtime_ns}"
