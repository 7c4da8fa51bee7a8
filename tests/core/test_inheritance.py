from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtp.core.inheritance import Layer, merge, override
from pytest_mtp.errors import SettingsError

BASE: dict[str, Any] = {
    "name": "base",
    "description": "The base.",
    "model": {"spec": "a.gguf", "sha256": "aa", "size": 1},
    "server": {"ctx": 512, "threads": 8, "extra": ["--a", "--b"]},
    "flag_sets": {"n2": {"n_max": 2}, "n3": {"n_max": 3, "p_min": 0.0}},
    "classes": [{"name": "one", "prompt": "1", "floor": 1.5}, {"name": "two", "prompt": "2"}],
}


def extended(*above: dict[str, Any] | str) -> dict[str, Any]:
    return merge([layer("base", BASE), *map(made, above)]).document


def made(above: dict[str, Any] | str) -> Layer:
    return override(above) if isinstance(above, str) else layer("above", above)


def layer(label: str, document: dict[str, Any]) -> Layer:
    return Layer(label=label, document=document)


def test_tables_merge_and_lists_are_replaced() -> None:
    assert extended({"server": {"ctx": 1024, "extra": ["--c"]}})["server"] == {
        "ctx": 1024,
        "threads": 8,
        "extra": ["--c"],
    }


def test_flag_sets_merge_by_name() -> None:
    assert extended({"flag_sets": {"n3": {"p_min": 0.5}, "n4": {"n_max": 4}}})["flag_sets"] == {
        "n2": {"n_max": 2},
        "n3": {"n_max": 3, "p_min": 0.5},
        "n4": {"n_max": 4},
    }


def test_classes_meet_by_name_and_new_ones_come_last() -> None:
    above = {"classes": [{"name": "three", "prompt": "3"}, {"name": "two", "floor": 1.1}]}
    assert extended(above)["classes"] == [
        {"name": "one", "prompt": "1", "floor": 1.5},
        {"name": "two", "prompt": "2", "floor": 1.1},
        {"name": "three", "prompt": "3"},
    ]


@pytest.mark.parametrize("own", ["name", "description"])
def test_what_a_profile_is_called_is_not_inherited(own: str) -> None:
    assert own not in extended({"server": {"ctx": 1}})
    assert extended("server.ctx=1")[own] == BASE[own]


@pytest.mark.parametrize(
    ("unset", "place", "left"),
    [
        ("server.threads", "server", {"ctx": 512, "extra": ["--a", "--b"]}),
        ("flag_sets.n2", "flag_sets", {"n3": {"n_max": 3, "p_min": 0.0}}),
        ("flag_sets.*", "flag_sets", {}),
        ("classes.*.floor", "classes", [{"name": "one", "prompt": "1"}, {"name": "two", "prompt": "2"}]),
        ("classes.one", "classes", [{"name": "two", "prompt": "2"}]),
    ],
)
def test_unset_takes_away_what_is_inherited(unset: str, place: str, left: object) -> None:
    assert extended({"unset": [unset]})[place] == left
    assert extended({"unset": [unset]}).keys() == extended({}).keys()


def test_unset_comes_before_what_the_same_file_says() -> None:
    assert extended({"unset": ["classes.*.floor"], "classes": [{"name": "two", "floor": 2.0}]})["classes"] == [
        {"name": "one", "prompt": "1"},
        {"name": "two", "prompt": "2", "floor": 2.0},
    ]


@pytest.mark.parametrize(
    ("unset", "hint"),
    [("server.thread", "; did you mean 'server.threads'?"), ("gates.zzz", "."), ("classes.two.floor", None)],
)
def test_an_unset_that_takes_nothing_away_is_told(unset: str, hint: str | None) -> None:
    (sentence,) = merge([layer("base", BASE), layer("above.toml", {"unset": [unset]})]).unmatched
    assert sentence.startswith(f"Profile above.toml: unset names {unset!r}, which is not inherited")
    assert hint is None or sentence.endswith(hint)


@pytest.mark.parametrize("above", [{"model": {"spec": "b.gguf"}}, "model.spec=b.gguf"])
def test_facts_of_a_model_do_not_outlive_it(above: dict[str, Any] | str) -> None:
    assert extended(above)["model"] == {"spec": "b.gguf"}
    assert extended({"model": {"spec": "a.gguf"}})["model"] == BASE["model"]


def test_a_new_models_own_facts_are_kept() -> None:
    assert extended({"model": {"spec": "b.gguf", "size": 2}})["model"] == {"spec": "b.gguf", "size": 2}


@pytest.mark.parametrize(
    ("assignment", "place", "value"),
    [
        ("server.ctx=1024", ("server", "ctx"), 1024),
        ("server.cache_type_k=q8_0", ("server", "cache_type_k"), "q8_0"),
        ("flag_sets.n3={ n_max = 1 }", ("flag_sets", "n3"), {"n_max": 1}),
        ('classes=[{ name = "x" }]', ("classes",), [{"name": "x"}]),
        ("classes.two.floor=1.2", ("classes", 1), {"name": "two", "prompt": "2", "floor": 1.2}),
    ],
)
def test_an_override_sets_its_value_and_nothing_else(
    assignment: str, place: tuple[str | int, ...], value: object
) -> None:
    found: Any = extended(assignment)
    for step in place:
        found = found[step]
    assert found == value
    assert len(extended(assignment)["flag_sets"]) == 2


def test_an_override_can_unset() -> None:
    assert extended("unset=['classes.*.floor', 'flag_sets.n2']") == {
        **BASE,
        "flag_sets": {"n3": BASE["flag_sets"]["n3"]},
        "classes": [{"name": "one", "prompt": "1"}, {"name": "two", "prompt": "2"}],
    }


@pytest.mark.parametrize("wrong", ["server.ctx", "=1", "server..ctx=1", "extends=base"])
def test_what_is_no_override_is_refused(wrong: str) -> None:
    with pytest.raises(SettingsError, match=r"override (takes KEY=VALUE|cannot change what a profile extends)"):
        override(wrong)


def test_every_value_knows_its_layer() -> None:
    above = layer("above", {"server": {"ctx": 1}, "classes": [{"name": "two", "floor": 1.1}]})
    origins = merge([layer("base", BASE), above, override("gates.alpha=0.1")]).origins
    assert origins["server", "ctx"] == origins["classes", "two", "floor"] == "above"
    assert origins["server", "threads"] == origins["classes", "two", "name"] == "base"
    assert origins["gates", "alpha"] == "override gates.alpha=0.1"


def test_what_was_unset_has_no_origin() -> None:
    merged = merge([layer("base", BASE), layer("above", {"unset": ["server.threads"]})])
    assert ("server", "threads") not in merged.origins


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["server", "a", "*", "classes.a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "spec", "a", "unset"]), inner, max_size=3)
    ),
    max_leaves=8,
)
_DOCUMENTS = st.dictionaries(st.sampled_from(["classes", "model", "server", "unset", "extends", "name"]), _VALUES)


@given(st.lists(_DOCUMENTS, max_size=3))
def test_no_document_can_break_the_merge(documents: list[dict[str, Any]]) -> None:
    merged = merge([layer(str(number), one) for number, one in enumerate(documents)])
    assert not merged.document.keys() & {"extends", "unset"}
