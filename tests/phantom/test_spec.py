import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtp.errors import SettingsError
from pytest_mtp.phantom.chains import break_all, degrade, make_chain, walk
from pytest_mtp.phantom.spec import WRITER_VERSION, Head, HeadKind, PhantomSpec, parse_head

SPEC = PhantomSpec(
    seed=7,
    layers=4,
    n_embd=64,
    n_ff=64,
    chain_length=20,
    weights="q8_0",
    wrong=(("code", 0.1), ("prose", 0.5)),
)


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("sound", Head()),
        ("broken", Head(HeadKind.BROKEN)),
        ("degraded:0.3", Head(HeadKind.DEGRADED, 0.3)),
        ("degraded:1", Head(HeadKind.DEGRADED, 1.0)),
        ("degraded:0.25@my-code_2", Head(HeadKind.DEGRADED, 0.25, "my-code_2")),
    ],
)
def test_a_head_is_read_from_its_text(text: str, head: Head) -> None:
    assert parse_head(text) == head


@given(st.floats(0, 1, exclude_min=True), st.one_of(st.none(), st.from_regex(r"[a-z0-9_-]+", fullmatch=True)))
def test_a_head_is_written_as_it_is_read(share: float, name: str | None) -> None:
    for head in (Head(), Head(HeadKind.BROKEN), Head(HeadKind.DEGRADED, share, name)):
        assert parse_head(str(head)) == head


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "'' is no head of a phantom; write sound, broken, degraded:P or degraded:P@CLASS"),
        ("bad", "'bad' is no head of a phantom"),
        ("degraded", "'degraded' is no head of a phantom"),
        ("degraded:0.3@", "'degraded:0.3@' is no head of a phantom"),
        ("degraded:some", "'some' in 'degraded:some' is no number"),
        ("degraded:0", "A head cannot be degraded by 0.0; write .* with 0 < P <= 1"),
        ("degraded:1.5", "A head cannot be degraded by 1.5"),
        ("degraded:nan", "A head cannot be degraded by nan"),
    ],
)
def test_a_text_that_is_no_head_is_refused_with_the_forms_that_are(text: str, sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        parse_head(text)


@pytest.mark.parametrize("head", [(HeadKind.DEGRADED,), (HeadKind.BROKEN, 0.5), (HeadKind.SOUND, None, "code")])
def test_only_a_degraded_head_has_a_share_and_a_class(head: tuple[HeadKind, float | None, str | None]) -> None:
    with pytest.raises(SettingsError, match=f"A {head[0].value} head with share .* is no head"):
        Head(*head)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"layers": 0}, "layers is 0; give a positive multiple of 4"),
        ({"layers": 6}, "layers is 6; give a positive multiple of 4"),
        ({"n_embd": 96}, "n_embd is 96; give a positive multiple of 64"),
        ({"n_ff": 100}, "n_ff is 100; give a positive multiple of 32"),
        ({"chain_length": 1}, "chain_length is 1; a wrong guess needs at least 2"),
        ({"weights": "q4_0"}, "weights are 'q4_0'; they are one of q8_0, f16"),
        ({"wrong": ()}, "no class; give at least one"),
        ({"wrong": (("Code", 0.1),)}, "class 'Code' cannot be a token; use a-z"),
        ({"wrong": (("a\n", 0.1),)}, "cannot be a token"),
        ({"wrong": (("code", 1.1),)}, "class 'code' has 1.1 wrong guesses; give a share from 0 to 1"),
        ({"wrong": (("code", 0.1), ("code", 0.2))}, "class 'code' more than once; give each its own name"),
        ({"head": parse_head("degraded:0.1@math")}, "no class 'math'; it has code, prose"),
    ],
)
def test_a_phantom_that_cannot_be_is_refused(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        replace(SPEC, **change)  # type: ignore[arg-type]


def test_a_planted_fault_is_in_the_recipe_but_not_in_the_identity() -> None:
    broken = replace(SPEC, head=parse_head("broken"))
    assert broken.identity == SPEC.identity
    assert broken.recipe != SPEC.recipe
    assert broken.recipe["head"] == "broken"


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 8},
        {"layers": 8},
        {"n_embd": 128},
        {"n_ff": 128},
        {"chain_length": 30},
        {"weights": "f16"},
        {"wrong": (("code", 0.2), ("prose", 0.5))},
        {"wrong": (("prose", 0.5), ("code", 0.1))},
    ],
)
def test_every_other_parameter_is_part_of_the_identity(change: dict[str, object]) -> None:
    assert replace(SPEC, **change).identity != SPEC.identity  # type: ignore[arg-type]


def test_the_recipe_is_json_and_names_the_writer() -> None:
    assert json.loads(json.dumps(SPEC.recipe)) == SPEC.recipe
    assert SPEC.recipe["writer"] == WRITER_VERSION


def test_a_share_written_as_a_whole_number_is_the_same_phantom() -> None:
    whole, exact = (replace(SPEC, wrong=(("code", share),)) for share in (0, 0.0))
    assert json.dumps(whole.recipe) == json.dumps(exact.recipe)


def test_a_sound_phantom_has_the_chains_of_its_shares() -> None:
    assert SPEC.chains() == (make_chain("code", 20, 0.1, 7), make_chain("prose", 20, 0.5, 7))


def test_a_broken_head_breaks_every_chain() -> None:
    assert replace(SPEC, head=parse_head("broken")).chains() == tuple(break_all(chain) for chain in SPEC.chains())


def test_a_degraded_head_degrades_every_chain() -> None:
    degraded = replace(SPEC, head=parse_head("degraded:0.3"))
    assert degraded.chains() == tuple(degrade(chain, 0.3, 7) for chain in SPEC.chains())


def test_a_class_can_be_degraded_alone() -> None:
    code, prose = SPEC.chains()
    assert replace(SPEC, head=parse_head("degraded:0.3@prose")).chains() == (code, degrade(prose, 0.3, 7))


def test_the_expected_counts_are_those_of_the_class_s_chain() -> None:
    assert SPEC.expected("prose", 96, 3) == walk(SPEC.chains()[1], 96, 3)


def test_the_expected_counts_are_those_of_the_faulty_head() -> None:
    assert replace(SPEC, head=parse_head("broken")).expected("code", 96, 3).draft_n_accepted == 0


def test_a_prompt_is_the_token_of_its_class() -> None:
    assert SPEC.prompt("code") == "<|code|>"


def test_a_class_that_is_not_there_has_neither_counts_nor_prompt() -> None:
    with pytest.raises(SettingsError, match="The phantom has no class 'math'; it has code, prose"):
        SPEC.expected("math", 96, 3)
    with pytest.raises(SettingsError, match="The phantom has no class 'math'"):
        SPEC.prompt("math")
