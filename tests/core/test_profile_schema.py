from typing import Any

import pytest

from pytest_mtp.core.profile import Profile
from pytest_mtp.core.profile_schema import named_twice, part, problems, value_problems
from pytest_mtp.schema import schemas

SCHEMA = schemas()["profile"]


def document(**changed: Any) -> dict[str, Any]:
    sound: dict[str, Any] = {
        "name": "a",
        "description": "A.",
        "source": {"spec": "sdist:1"},
        "model": {"spec": "phantom"},
        "server": {"ctx": 512, "gpu_layers": 0},
        "request": {"tokens": 8},
        "flag_sets": {"n3": {"n_max": 3, "p_min": 0.0}},
        "classes": [{"name": "greeting", "prompt": "Hello"}],
    }
    return {**sound, **changed}


def test_a_sound_document_has_no_problem() -> None:
    assert problems(document(), SCHEMA) == []
    assert problems(document(), part(SCHEMA)) == []
    assert value_problems(document()) == []


def test_a_part_may_leave_out_anything_but_the_name_of_a_class() -> None:
    some = {"extends": "a", "unset": ["b"], "flag_sets": {"n3": {}}, "model": {"phantom": {"seed": 2}}}
    assert problems({**some, "classes": [{"name": "greeting"}]}, part(SCHEMA)) == []
    assert problems({"classes": [{"prompt": "Hello"}]}, part(SCHEMA)) == ["classes[0] has no 'name'."]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"server": {"ctx": 1, "gpu_layer": 0}}, "server has no 'gpu_layer'; did you mean 'gpu_layers'?"),
        ({"bulid": {}}, "the profile has no 'bulid'; did you mean 'build'?"),
        ({"source": {"spec": "a", "zzz": 1}}, "source has no 'zzz'; it takes spec."),
        ({"model": {"spec": "a", "phantom": {"sed": 1}}}, "model.phantom has no 'sed'; did you mean 'seed'?"),
        ({"server": {"ctx": "many", "gpu_layers": 0}}, "server.ctx: 'many' is not of type 'integer'."),
        ({"server": {"ctx": 1, "gpu_layers": 0, "threads": "x"}}, "server.threads: 'x' is not of type 'integer'."),
        ({"name": {"first": "a"}}, "name is no table of the profile."),
        ({"classes": [{"name": "greeting", "prompt": "", "floor": "x"}]}, "classes.greeting.floor: 'x' is not of type"),
        ({"classes": [1]}, "classes[0]: 1 is not of type 'object'."),
        ({"classes": {"a": 1}}, "classes is no table of the profile."),
        ({"build": {"backend": "cuba"}}, "build.backend: 'cuba' is not one of ['auto', 'cpu', 'cuda'"),
        ({"gates": {"looks": [4, "x"]}}, "gates.looks[1]: 'x' is not of type 'integer'."),
    ],
)
def test_what_is_wrong_is_said_in_words(changed: dict[str, Any], sentence: str) -> None:
    for schema in (SCHEMA, part(SCHEMA)):
        assert any(one.startswith(sentence) for one in problems(document(**changed), schema))


def test_every_unknown_key_is_told() -> None:
    found = problems({**document(), "bulid": {}, "servr": {}}, SCHEMA)
    assert [one.partition(";")[0] for one in found] == ["the profile has no 'bulid'", "the profile has no 'servr'"]


@pytest.mark.parametrize(
    ("lacking", "sentence"),
    [
        ({"name"}, "the profile has no 'name'; a profile has its own and inherits none."),
        ({"server"}, "the profile has no 'server'."),
    ],
)
def test_what_is_lacking_is_named(lacking: set[str], sentence: str) -> None:
    assert problems({key: value for key, value in document().items() if key not in lacking}, SCHEMA) == [sentence]


def test_a_class_that_lacks_its_prompt_may_be_a_misspelled_one() -> None:
    classes = [{"name": "greeting", "prompt": "Hello"}, {"name": "greting", "floor": 1.0}]
    assert problems(document(classes=classes), SCHEMA) == [
        "classes.greting has no 'prompt'; did you mean the class 'greeting'?"
    ]


def test_a_class_named_twice_in_one_file_is_told() -> None:
    twice = [{"name": "a"}, {"name": "b"}, {"name": "a"}]
    assert named_twice({"classes": twice}) == ["it names a prompt class twice: a."]
    assert named_twice({"classes": [1, {}, {"name": 2}, {"name": 2}]}) == []


def test_no_wrong_value_hides_another() -> None:
    classes = [{"name": "a", "prompt": "", "floor": 0}, {"name": "b", "prompt": "", "floor": -1}]
    found = value_problems(document(gates={"alpha": 0.7}, request={"tokens": 1}, classes=classes))
    assert sorted(one.partition(" is")[0] for one in found) == [
        "The floor of class a",
        "The floor of class b",
        "gates.alpha",
        "request.tokens",
    ]


def test_every_key_of_a_profile_is_in_the_schema_of_a_file() -> None:
    keys = part(SCHEMA)["$defs"]["Profile"]["properties"].keys()
    assert keys == {*Profile.__slots__, "extends", "unset"}
