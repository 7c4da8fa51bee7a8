"""The prompts that ship, and the classes of a profile that ask for one by ``prompt = "library:NAME"``."""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pytest_mtp.core.long_text import long_text
from pytest_mtp.core.profile import Profile, PromptClass
from pytest_mtp.errors import SettingsError

_PLACE = "{text}"


@dataclass(frozen=True, slots=True)
class LibraryPrompt:
    """A prompt of the library; with a number of words it holds a text of that length, made from the seed."""

    prompt: str
    seed: int = 0
    words: int = 0

    @property
    def text(self) -> str:
        """What is asked."""
        return self.prompt.replace(_PLACE, long_text(self.seed, self.words)) if self.words else self.prompt


Library = Mapping[str, LibraryPrompt]


def names_library(prompt: str) -> str | None:
    """The name that a prompt asks the library for; ``None`` of a prompt that is a text of its own."""
    match = re.fullmatch(r"library:([\w-]+)", prompt)
    return match[1] if match else None


def with_library(profile: Profile, library: Library) -> Profile:
    """The profile with the library's texts; SettingsError names every class whose prompt it has not."""
    wrong = [sentence for one in profile.classes if (sentence := _unknown(one, library)) is not None]
    if wrong:
        raise SettingsError("\n".join(wrong))
    return replace(profile, classes=tuple(_told(one, library) for one in profile.classes))


def _told(one: PromptClass, library: Library) -> PromptClass:
    name = names_library(one.prompt)
    return one if name is None else replace(one, prompt=library[name].text)


def _unknown(one: PromptClass, library: Library) -> str | None:
    name = names_library(one.prompt)
    if name is None or name in library:
        return None
    near = difflib.get_close_matches(name, library, n=1)
    mend = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(library)}."
    return f"Class {one.name} asks for a prompt {name!r} that the library has not; {mend}"
