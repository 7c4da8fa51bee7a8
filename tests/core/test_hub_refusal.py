"""Every refusal of the hub has a sentence of its own, with cause and mend, and without secrets."""

import pytest

from pytest_mtp.core.hub import HubFile
from pytest_mtp.core.hub_refusal import Refusal, Refused, asked_wait_s, plain, refusal_sentence

FILE = HubFile(repo="o/r", name="model-Q4_K_M.gguf", revision="main")


def said(refused: Refused) -> str:
    return refusal_sentence(FILE, refused, hub="https://hub.example", cache="/c")


@pytest.mark.parametrize("kind", Refusal)
def test_every_refusal_is_a_cause_and_a_mend(kind: Refusal) -> None:
    cause, mend = said(Refused(kind=kind, detail="why")).splitlines()
    assert ("o/r" in cause) or ("/c" in cause)
    assert cause.endswith(".")
    assert mend.endswith(".")
    assert not set("{}") & set(cause + mend)


def test_no_two_refusals_sound_alike() -> None:
    assert len({said(Refused(kind=kind)) for kind in Refusal}) == len(Refusal)


@pytest.mark.parametrize("kind", [Refusal.GATED, Refusal.GATED_TO_TOKEN])
def test_a_gated_repository_is_said_with_the_page_of_its_terms(kind: Refusal) -> None:
    assert "https://hub.example/o/r" in said(Refused(kind=kind))


def test_a_wait_is_said_when_the_hub_asks_for_one() -> None:
    assert "and asks to wait 300 s." in said(Refused(kind=Refusal.RATE, wait_s=300.0))
    assert "wait" not in said(Refused(kind=Refusal.RATE))


def test_a_missing_file_is_answered_with_the_nearest_names() -> None:
    names = ("README.md", "model-Q8_0.gguf", "model-Q4_K_S.gguf", "zebra.gguf", "model-q4_k_m.gguf")
    sentence = said(Refused(kind=Refusal.NO_FILE, names=names))
    assert "it has model-q4_k_m.gguf, model-Q4_K_S.gguf, model-Q8_0.gguf." in sentence
    assert "zebra" not in sentence


def test_names_are_offered_also_when_none_is_near() -> None:
    assert "it has a.gguf, b.gguf." in said(Refused(kind=Refusal.NO_FILE, names=("b.gguf", "a.gguf")))


def test_a_repository_without_gguf_says_so_and_an_unknown_one_says_nothing() -> None:
    assert "no GGUF file at all" in said(Refused(kind=Refusal.NO_FILE, names=("README.md",)))
    assert "; it has" not in said(Refused(kind=Refusal.NO_FILE))


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"Retry-After": "120"}, 120.0),
        ({"RateLimit": '"resolvers";r=0;t=55'}, 55.0),
        ({"RateLimit": '"resolvers";r=0;t=55', "Retry-After": "7"}, 55.0),
        ({"ratelimit": '"resolvers";r=9;t=55', "retry-after": "7"}, 7.0),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({}, None),
    ],
)
def test_the_wait_is_the_rate_limits_or_else_retry_after(headers: dict[str, str], wait_s: float | None) -> None:
    assert asked_wait_s(headers) == wait_s


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\n  first.\nsecond", "first"),
        ("", ""),
        ("at https://user:pass@host/x", "at https://host/x"),
        ("for 'https://cdn/x?Signature=abc&Key=d' it", "for 'https://cdn/x' it"),
        ("token hf_abcdefghijkl is bad", "token hf_... is bad"),
    ],
)
def test_what_is_shown_is_one_line_without_secrets(text: str, shown: str) -> None:
    assert plain(text) == shown
