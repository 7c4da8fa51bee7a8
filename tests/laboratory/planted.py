"""A real git repository of llama.cpp in which losses are planted: what ``compare`` and ``bisect`` shall find.

``python -m tests.laboratory.planted FOLDER`` makes ``FOLDER/llama.cpp.git`` in seconds and prints its refs. Its commits
are the same in every folder and on every day, so that a build of one is found again in the cache.
"""

import argparse
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_mtp.core.source import parse_source
from pytest_mtp.runtime.cache import Cache, default_root
from pytest_mtp.runtime.sources import fetch_source
from tests.fakes.git_server import git
from tests.laboratory.edits import Change, changed
from tests.laboratory.losses import Losses, branches, history

SDIST = "sdist:11434"
NAME = "llama.cpp.git"

# Nothing of the user's own configuration may change a tree, and packing 100 MB costs more than it saves.
_CONFIG = {
    "core.autocrlf": "false",
    "core.excludesFile": os.devnull,
    "core.compression": "0",
    "pack.window": "0",
    "uploadpack.allowFilter": "true",
}
_LEFT_OUT = (":!models", ":!docs", ":!media")
_WHO = "Planter <planter@example.org>"
_FIRST_DAY_S = 1_735_689_600
_HOUR_S = 3_600


@dataclass(frozen=True, slots=True)
class Planted:
    """The repository that was made."""

    path: Path
    refs: Mapping[str, str]
    """The commit of every ref, by its full name."""

    def source(self, name: str) -> str:
        """What ``--mtp-source`` takes for a branch, tag or commit."""
        return f"git:{self.path}@{name}"


def plant(folder: Path, losses: Losses | None = None) -> Planted:
    """Make ``folder/llama.cpp.git``, or make its refs anew.

    ::

        base               the tree of the sdist without models, docs and media
        unchanged, ...     one commit on base each: what ``losses.branches`` says
        faults             one commit on base: what ``faults.Fault`` switches on
        history            a line of commits on base: ``losses.history``
        good, bad, ...     tags of that line
    """
    tree = fetch_source(parse_source(SDIST), Cache(default_root())).path
    bare = folder.absolute() / NAME
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "--bare", "--template=", str(bare))
    for name, value in _CONFIG.items():
        git(bare, "config", name, value)
    git(bare, "symbolic-ref", "HEAD", "refs/heads/base")
    git(tree, f"--git-dir={bare}", f"--work-tree={tree}", "add", "-A", ".", *_LEFT_OUT)
    stream = _Stream(tree)
    _write(stream, git(bare, "write-tree"), losses or Losses())
    command = ["git", "-C", str(bare), "fast-import", "--quiet", "--force"]
    subprocess.run(command, input=stream.joined(), check=True)
    return planted_in(folder)


def planted_in(folder: Path) -> Planted:
    """What was planted there before."""
    bare = folder.absolute() / NAME
    lines = git(bare, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return Planted(bare, dict(line.split() for line in lines))


@dataclass(slots=True)
class _Stream:
    """What ``git fast-import`` is fed."""

    tree: Path
    parts: list[bytes] = field(default_factory=list)
    commits: int = 0

    def joined(self) -> bytes:
        return b"".join(self.parts)

    def root(self, branch: str, tree_sha: str, message: str) -> int:
        """Begin a branch with a whole tree."""
        return self._commit(branch, message, [f'M 040000 {tree_sha} ""\n'.encode()])

    def follow(self, branch: str, parent: int, change: Change, texts: Mapping[str, str]) -> int:
        """Add a commit whose files read so."""
        words = [f"from :{parent}\n".encode()]
        for path, text in texts.items():
            words += [f"M 100644 inline {path}\n".encode(), _data(text)]
        return self._commit(branch, change.message, words)

    def tag(self, name: str, commit: int) -> None:
        self.parts.append(f"reset refs/tags/{name}\nfrom :{commit}\n\n".encode())

    def text(self, path: str) -> str:
        """How a file of the base reads."""
        return (self.tree / path).read_bytes().decode()

    def _commit(self, branch: str, message: str, words: Iterable[bytes]) -> int:
        self.commits += 1
        when_s = _FIRST_DAY_S + self.commits * _HOUR_S
        head = f"commit refs/heads/{branch}\nmark :{self.commits}\n"
        head += "".join(f"{role} {_WHO} {when_s} +0000\n" for role in ("author", "committer"))
        self.parts += [head.encode(), _data(message + "\n"), *words, b"\n"]
        return self.commits


def _write(stream: _Stream, tree_sha: str, losses: Losses) -> None:
    base = stream.root("base", tree_sha, "base: the tree of the sdist")
    # First, so that the dates and shas of the line depend on nothing that is planted elsewhere.
    _write_history(stream, base, losses)
    for branch, change in branches(losses).items():
        stream.follow(branch, base, change, changed(change, stream.text))


def _write_history(stream: _Stream, base: int, losses: Losses) -> None:
    """One line of commits, each of which finds the files as the one before left them."""
    now: dict[str, str] = {}

    def as_left(path: str) -> str:
        return now[path] if path in now else stream.text(path)

    stream.tag("good", base)
    newest = base
    for change in history(losses):
        texts = changed(change, as_left)
        now |= texts
        newest = stream.follow("history", newest, change, texts)
        if change.tag is not None:
            stream.tag(change.tag, newest)
    stream.tag("bad", newest)


def _data(text: str) -> bytes:
    raw = text.encode()
    return f"data {len(raw)}\n".encode() + raw + b"\n"


def main() -> None:
    """Make the repository and print its refs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    default = Losses()
    parser.add_argument("--step-us", type=int, default=default.step_us, help=f"default: {default.step_us}")
    parser.add_argument("--every", type=int, default=default.every, help=f"default: {default.every}")
    parser.add_argument("--engine", type=int, default=default.engine_percent, help=f"default: {default.engine_percent}")
    asked = parser.parse_args()
    made = plant(asked.folder, Losses(step_us=asked.step_us, every=asked.every, engine_percent=asked.engine))
    for name, commit in made.refs.items():
        print(f"{commit} {name}")  # noqa: T201 - what it is for


if __name__ == "__main__":
    main()
