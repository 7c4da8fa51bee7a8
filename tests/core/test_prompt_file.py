import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtp.core.profile import PromptClass, Reference
from pytest_mtp.core.prompt_file import prompt_classes, with_prompts
from pytest_mtp.errors import InputError
from pytest_mtp.runtime.profiles import load_profile

TWO = [("poem", "Write a poem."), ("sum", "Add 2 and 3.")]


def lines(*rows: Any) -> str:
    return "\n".join(json.dumps(row) for row in rows)


def question(mark: Any, category: str = "coding", *turns: str) -> dict[str, Any]:
    return {"question_id": mark, "category": category, "turns": turns or ("Write a sort.", "Now in C.")}


def asked(text: str) -> list[tuple[str, str]]:
    return [(one.name, one.prompt) for one in prompt_classes(text)]


def refusal(text: str) -> str:
    with pytest.raises(InputError) as caught:
        prompt_classes(text)
    return str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        lines(*({"class": name, "prompt": prompt} for name, prompt in TWO)),
        "\ufeff" + lines(*({"class": name, "prompt": prompt} for name, prompt in TWO)).replace("\n", "\r\n\r\n") + "\n",
        json.dumps([{"class": name, "prompt": prompt, "more": 1} for name, prompt in TWO], indent=2),
        json.dumps(TWO),
        json.dumps(TWO, indent=1),
        json.dumps(dict(TWO)),
        json.dumps(dict(TWO), indent=4),
        lines(*({"id": 1, "category": name, "turns": [prompt]} for name, prompt in TWO)),
    ],
)
def test_every_form_that_people_have_gives_the_same_classes(text: str) -> None:
    assert asked(text) == TWO


def test_one_row_alone_is_a_file_too() -> None:
    assert asked('{"class": "poem", "prompt": "Write a poem."}') == TWO[:1]


def test_a_category_becomes_the_class_and_its_first_turn_the_prompt() -> None:
    assert asked(lines(question(81), question(82, "math", "2 + 2?"))) == [
        ("coding", "Write a sort."),
        ("math", "2 + 2?"),
    ]


def test_the_questions_of_one_category_are_told_apart_by_their_ids() -> None:
    assert [name for name, _ in asked(lines(question(81), question(5, "qa"), question("b-2")))] == [
        "coding-81",
        "qa",
        "coding-b-2",
    ]


def test_a_prompt_is_kept_to_the_last_control_character() -> None:
    prompt = " \x00\x1b[31m\u2028\r\ntext\t"
    for text in (lines({"class": "a", "prompt": prompt}), json.dumps({"a": prompt}, ensure_ascii=False)):
        assert asked(text) == [("a", prompt)]


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("{]}", "it is not JSON (Expecting property name enclosed in double quotes at column 2); write rows such as"),
        ('"a"', "it is no row; write rows such as"),
        ('["a"]', "it is no row; write rows such as"),
        ('{"class": "a"}', 'it has no "prompt"; write rows such as'),
        ('{"prompt": "a"}', 'it has no "class"; write rows such as'),
        ('{"name": "a", "prompt": "a"}', 'it has no "class" (it has "name": write "class"); write rows such as'),
        ('{"messages": [{"role": "user"}]}', "a conversation is not taken; write class and prompt, such as {"),
        ('{"class": 3, "prompt": "a"}', '"class" is not a text; put it in quotation marks.'),
        ('{"class": "a", "prompt": 3}', '"prompt" is not a text; put it in quotation marks.'),
        ('{"class": "a", "prompt": " \\n"}', '"prompt" is empty; write what the model shall be asked.'),
        ('{"class": "a", "prompt": "\\ud800"}', '"prompt" holds half a character (\\ud800); write it whole.'),
        ('{"class": "good", "prompt": "b"}', "the class good is in line 1 too, and holds one prompt; give it a name"),
        ('{"category": "a"}', 'it has no "turns"; write rows such as'),
        ('{"turns": ["a"]}', 'it has no "category"; write rows such as'),
        ('{"category": "a", "turns": []}', '"turns" is not a list of texts; give at least one.'),
        ('{"category": "a", "turns": [7]}', 'the first of "turns" is not a text; put it in quotation marks.'),
        (
            '{"category": "a", "turns": ["FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE USING SPECDEC_BENCH"]}',
            "SPEED-Bench leaves this prompt to be fetched from its source; prepare the data first.",
        ),
        ("[" * 100_000, "it is not JSON (nested too deep); write rows such as"),
        ("9" * 5000, "it is not JSON (a number too long to read); write rows such as"),
    ],
)
def test_a_bad_row_is_named_by_its_line_with_cause_and_mend(row: str, sentence: str) -> None:
    assert refusal(lines({"class": "good", "prompt": "Good."}) + f"\n\n{row}\n").startswith(f"Line 3: {sentence}")


@pytest.mark.parametrize("name", ["", "a b", "a\nb", "a\x1b[0m", "a[b]", "a::b", "a/b", "-k", "ü", "\ud800", "a" * 101])
def test_a_name_that_would_break_the_name_of_a_test_is_refused(name: str) -> None:
    said = refusal(lines({"class": name, "prompt": "A."}, question(1, name)))
    assert [line.partition(" is ")[0] for line in said.split("\n")] == ['Line 1: "class"', 'Line 2: "category"']
    assert said.count("cannot stand in the name of a test; write up to 100 letters") == 2
    assert said.isascii()
    assert all(line.isprintable() for line in said.split("\n"))


def test_an_id_that_would_break_the_name_of_a_test_is_refused() -> None:
    said = refusal(lines(question(1), question("\x1b::[x]")))
    assert said.startswith("Line 2: the name of the class is 'coding-\\x1b::[x]', which cannot stand")


@pytest.mark.parametrize("mark", [7, None])
def test_questions_that_nothing_tells_apart_are_refused(mark: Any) -> None:
    said = refusal(lines(question(mark), question(mark)))
    assert said.startswith("Line 2: the class coding")
    assert said.endswith("holds one prompt; give each question of a category a question_id of its own.")


@pytest.mark.parametrize(
    "text", ['{"messages": []}', '[{"messages": [{"content": "a"}]}]', '{"messages": [], "id": 1}']
)
def test_a_conversation_is_refused_in_every_form(text: str) -> None:
    assert refusal(text).startswith("Line 1: a conversation is not taken; write class and prompt")


def test_a_class_may_be_called_messages() -> None:
    assert asked('{"messages": "Write one."}') == [("messages", "Write one.")]
    assert asked('{"class": "a", "prompt": "A.", "messages": []}') == [("a", "A.")]


def test_every_bad_row_is_told_and_of_many_the_first_ten() -> None:
    assert refusal(lines({"class": "a"}, {"prompt": "b"})).count("Line ") == 2
    said = refusal(lines(*([{"class": "a"}] * 30))).split("\n")
    assert len(said) == 11
    assert said[-1] == "And 20 more lines like these."


@pytest.mark.parametrize("text", ['[\n ["a", "A."],\n ["b", ""]\n]', '{\n "a": "A.",\n "b": ""\n}'])
def test_a_bad_element_of_a_list_has_its_line_too(text: str) -> None:
    assert refusal(text) == "Line 3: the prompt of b is empty; write what the model shall be asked."


def test_a_name_twice_in_one_object_is_seen_where_json_would_drop_one() -> None:
    assert refusal('{"a": "1",\n"a": "2"}').startswith("Line 2: the class a is in line 1 too")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "It is empty: write rows such as"),
        (" \n ", "It is empty: write rows such as"),
        ("[]", "It holds no prompt: write rows such as"),
        ("{}", "It holds no prompt: write rows such as"),
        ("3", "It holds one JSON value that is no list: write rows such as"),
        (
            '[["a", "A."],\n["b" "B."]]',
            "Line 2: it is not JSON (Expecting ',' delimiter at column 6); write rows such as",
        ),
        ("class,prompt\na,A\n", "Line 1: it is not JSON (Expecting value at column 1); write rows such as"),
        (
            'PROMPTS = [("a", "A.")]',
            "Line 1: it is not JSON (Expecting value at column 1); this looks like Python, whose",
        ),
    ],
)
def test_a_file_that_holds_no_rows_is_refused_with_what_it_should_hold(text: str, sentence: str) -> None:
    assert refusal(text).startswith(sentence)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["a", "b", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["class", "prompt", "category", "turns", "question_id", "id"]) | st.text(),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
_TEXTS = (
    st.text()
    | st.text(alphabet='[]{}",: \n\r\\u2028ab1d8')
    | _JSON.map(json.dumps)
    | st.lists(_JSON, max_size=4).map(lambda rows: lines(*rows))
)


@given(_TEXTS)
def test_any_text_gives_classes_or_an_input_error(text: str) -> None:
    try:
        classes = prompt_classes(text)
    except InputError:
        return
    assert len({one.name for one in classes}) == len(classes) > 0
    assert all(one.prompt.encode() and one.prompt.strip() for one in classes)


@given(st.dictionaries(st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True), st.text(min_size=1), min_size=1))
def test_what_is_written_is_what_is_asked(prompts: dict[str, str]) -> None:
    sound = {name: f"{prompt}." for name, prompt in prompts.items()}
    sound = {name: prompt for name, prompt in sound.items() if not any("\ud800" <= one <= "\udfff" for one in prompt)}
    written = [{"class": name, "prompt": prompt} for name, prompt in sound.items()]
    if written:
        assert asked(lines(*written)) == list(sound.items())
        assert asked(json.dumps(list(sound.items()))) == list(sound.items())


def test_floor_and_reference_stay_only_where_the_same_is_asked() -> None:
    profile = load_profile("rtx3090-qwen3.6-27b")
    greeting, game = profile.classes[:2]
    given_ = (
        PromptClass(name="new", prompt=greeting.prompt),
        PromptClass(name=game.name, prompt=game.prompt),
        PromptClass(name=greeting.name, prompt="Hi!"),
    )
    classes = with_prompts(profile, given_).classes
    assert [one.name for one in classes] == ["new", "python_game", "greeting"]
    assert [one.floor for one in classes] == [None, game.floor, None]
    assert isinstance(classes[1].reference, Reference)
    assert (classes[0].reference, classes[2].reference) == (None, None)
