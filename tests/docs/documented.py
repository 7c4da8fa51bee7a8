"""The pages, and the commands that they tell people to type."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "baselines/README.md")),
    *sorted(DOCS.glob("*.md")),
    *ROOT.glob("examples/*/README.md"),
)

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"(^|\s)#.*$", re.MULTILINE)
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_BETWEEN = {"&&", "||", "|", ";", "&"}
_BEFORE = {"sudo", "uvx"}
_SETTING = re.compile(r"^\w+=")


@dataclass(frozen=True, slots=True)
class Typed:
    """One program with its words, as a page has it."""

    page: str
    words: tuple[str, ...]

    @property
    def program(self) -> str:
        """Its name, wherever it lies."""
        return Path(self.words[0]).name or self.words[0]

    def __str__(self) -> str:
        """As the id of a test."""
        return f"{self.page}: {' '.join(self.words)}"


def prose(page: Path) -> str:
    """The page without what stands in fences."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def fenced(page: Path, language: str) -> list[str]:
    """What stands in fences of this language."""
    return [text for told, text in _FENCE.findall(page.read_text(encoding="utf-8")) if told == language]


def inline(page: Path) -> list[str]:
    """What stands between single backticks; of a table's cell, as it is shown."""
    return [text.replace(r"\|", "|") for text in _INLINE.findall(prose(page))]


def typed() -> Iterator[Typed]:
    """Every program of every fence of ``sh``; what `git bisect run` runs is one of its own."""
    for page in PAGES:
        for text in fenced(page, "sh"):
            for line in _COMMENT.sub("", text).replace("\\\n", " ").splitlines():
                yield from (Typed(page.name, words) for words in programs(line))


def programs(line: str) -> Iterator[tuple[str, ...]]:
    """The programs of one line of a shell, without what only sets a variable or starts the next word."""
    words: list[str] = []
    for word in [*_split(line), ";"]:
        if word not in _BETWEEN:
            words.append(word)
            continue
        found = tuple(_without_settings(words))
        words = []
        if found:
            yield found
        if found[:3] == ("git", "bisect", "run"):
            yield found[3:]


def _split(line: str) -> Sequence[str]:
    shell = shlex.shlex(line, posix=True, punctuation_chars="&|;")
    shell.whitespace_split, shell.commenters = True, ""
    return list(shell)


def _without_settings(words: Sequence[str]) -> Iterator[str]:
    begun = False
    for word in words:
        begun = begun or not (_SETTING.match(word) or word in _BEFORE)
        if begun:
            yield word
