"""A commit of the planted repository: replacements of text, which fail where the tree is another."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

SPECULATION = "common/speculative.cpp"


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement in one file."""

    path: str
    old: str
    new: str

    def applied(self, text: str) -> str:
        """The file's text with it; ``ValueError`` unless the old text is there exactly once."""
        found = text.count(self.old)
        if found != 1:
            raise ValueError(
                f"{self.path} holds {self.old!r} {found} times, not once; plant in the tree of sdist:11434."
            )
        return text.replace(self.old, self.new)


@dataclass(frozen=True, slots=True)
class Change:
    """One commit."""

    message: str
    edits: tuple[Edit, ...]
    """In any number of files, one after the other."""
    tag: str | None = None
    """A name for it."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that it changes, each once."""
        return tuple(dict.fromkeys(edit.path for edit in self.edits))


def changed(change: Change, read: Callable[[str], str]) -> Mapping[str, str]:
    """How the commit's files read afterwards, by path; ``read`` gives what each was."""
    now: dict[str, str] = {}
    for edit in change.edits:
        now[edit.path] = edit.applied(now[edit.path] if edit.path in now else read(edit.path))
    return now
