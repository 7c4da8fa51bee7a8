import json
import re
from pathlib import Path

import pytest

from pytest_mtp.errors import SettingsError
from pytest_mtp.runtime.profiles import load_profile
from pytest_mtp.runtime.prompts import library

TUTORIAL = ("greeting", "python_game")
COMMUNITY = (
    "code_python",
    "code_cpp",
    "explain_concept",
    "summarize",
    "qa_factual",
    "translation",
    "creative_short",
    "stepwise_math",
    "long_code_review",
)
OURS = ("multilingual", "long_context", "agent")


def pieces(text: str) -> int:
    """About the tokens of a text: words, digits, and runs of signs or of blank lines."""
    return len(re.findall(r"\d|[^\W\d]+|[^\w\s]+|\n\s*", text))


def test_the_library_holds_what_the_tutorial_and_the_community_ask_and_ours() -> None:
    assert set(library()) == {*TUTORIAL, *COMMUNITY, *OURS}


@pytest.mark.parametrize("name", library())
def test_every_prompt_is_one_text_of_its_own(name: str) -> None:
    text = library()[name].text
    assert text == text.strip()
    assert "{text}" not in text
    assert "<|" not in text  # the profile's template says whose turn it is
    assert [one for one, other in library().items() if other.text == text] == [name]


@pytest.mark.parametrize(
    ("name", "least", "most"), [("long_code_review", 600, 850), ("long_context", 3600, 4400), ("agent", 350, 700)]
)
def test_the_long_ones_have_the_length_that_is_stated(name: str, least: int, most: int) -> None:
    assert least <= pieces(library()[name].text) <= most


@pytest.mark.parametrize("name", [name for name in (*TUTORIAL, *COMMUNITY) if name != "long_code_review"])
def test_the_others_are_short(name: str) -> None:
    assert pieces(library()[name].text) <= 200


def test_the_agents_tools_and_past_answers_are_the_json_that_it_asks_for() -> None:
    text = library()["agent"].text
    tools = {tool["name"] for tool in json.loads(text[text.index("[\n") : text.index("\n]\n") + 2])}
    answers = [json.loads(line.removeprefix("Assistant: ")) for line in text.split("\n") if line.startswith("Assist")]
    assert len(answers) == 2
    for answer in answers:
        assert list(answer) == ["thought", "calls"]
        assert {call["name"] for call in answer["calls"]} <= tools


def test_the_tutorials_profile_asks_the_librarys_prompts() -> None:
    classes = load_profile("rtx3090-qwen3.6-27b").classes
    assert [(one.name, one.prompt) for one in classes] == [
        (name, library()[name].text) for name in (*TUTORIAL, *COMMUNITY)
    ]


def test_a_profile_takes_one_more_by_an_override() -> None:
    profile = load_profile("qwen3.6-27b", ["classes.agent.prompt=library:agent"])
    assert profile.classes[-1].prompt == library()["agent"].text


def test_a_name_that_the_library_has_not_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'extends = "qwen3.6-27b"\nname = "mine"\ndescription = "Mine."\n'
        '[[classes]]\nname = "agent"\nprompt = "library:agnet"\n'
    )
    with pytest.raises(SettingsError, match=r"mine\.toml: Class agent asks for a prompt 'agnet' .* mean 'agent'\?"):
        load_profile(str(path))
