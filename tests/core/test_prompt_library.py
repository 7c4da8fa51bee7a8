from dataclasses import replace

import pytest

from pytest_mtp.core.profile import Profile, PromptClass
from pytest_mtp.core.prompt_library import LibraryPrompt, names_library, with_library
from pytest_mtp.errors import SettingsError
from pytest_mtp.runtime.profiles import load_profile

LIBRARY = {"poem": LibraryPrompt("Write a poem."), "long": LibraryPrompt("Read this:\n{text}\nWell?", seed=1, words=50)}


def asking(**prompts: str) -> Profile:
    classes = tuple(PromptClass(name=name, prompt=prompt, floor=1.5) for name, prompt in prompts.items())
    return replace(load_profile("phantom"), classes=classes)


def test_a_class_gets_the_text_that_it_names_and_keeps_the_rest() -> None:
    found = with_library(asking(mine="library:poem", own="Say library:poem."), LIBRARY).classes
    assert [(one.name, one.prompt, one.floor) for one in found] == [
        ("mine", "Write a poem.", 1.5),
        ("own", "Say library:poem.", 1.5),
    ]


def test_a_text_is_put_where_the_prompt_has_its_place() -> None:
    prompt = with_library(asking(mine="library:long"), LIBRARY).classes[0].prompt
    assert prompt.startswith("Read this:\nDay ")
    assert prompt.endswith(".\nWell?")


def test_a_place_without_a_number_of_words_is_plain_text() -> None:
    assert LibraryPrompt("Explain {text}.").text == "Explain {text}."


def test_every_unknown_name_is_told_with_the_nearest_one() -> None:
    with pytest.raises(SettingsError) as caught:
        with_library(asking(a="library:pom", b="library:zzz", c="library:poem"), LIBRARY)
    assert str(caught.value).split("\n") == [
        "Class a asks for a prompt 'pom' that the library has not; did you mean 'poem'?",
        "Class b asks for a prompt 'zzz' that the library has not; it has poem, long.",
    ]


@pytest.mark.parametrize("prompt", ["library: poem", "library:", "library:a b", "library:a\n", "The library:a"])
def test_a_sentence_that_begins_alike_is_a_prompt(prompt: str) -> None:
    assert names_library(prompt) is None
