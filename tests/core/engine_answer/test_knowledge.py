"""What is known of a server, said in sentences."""

from dataclasses import replace

import pytest

from pytest_mtp.core.endpoint import Engine
from pytest_mtp.core.engine_answer.knowledge import DraftSource, Knowledge
from pytest_mtp.core.engine_answer.protocol import Clock

ALL = Knowledge(
    engine=Engine.LLAMA_SERVER,
    clock=Clock.SERVER,
    drafts=DraftSource.PER_REQUEST,
    per_position=True,
    speculation_proof=True,
    ignores_eos=True,
    cache_off=True,
    counts_tokens=True,
)


def test_a_server_that_tells_all_has_two_sentences() -> None:
    assert ALL.sentences() == (
        "Times of llama-server are by the server's own clock.",
        "Drafts are told with every answer.",
    )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"clock": Clock.CLIENT}, "by the client's clock"),
        ({"drafts": DraftSource.NOT_TOLD}, "tau and step cost are unknown"),
        ({"drafts": DraftSource.COUNTERS}, "only where nobody else uses the server"),
        ({"per_position": False}, "not counted by their place"),
        ({"speculation_proof": False}, "the arms are not proven"),
        ({"ignores_eos": False}, "may end before the last token"),
        ({"cache_off": False}, "prompt speed is not comparable"),
        ({"counts_tokens": False}, "prompts keep their own length"),
    ],
)
def test_what_is_not_told_is_said_with_what_follows(change: dict[str, object], sentence: str) -> None:
    changed = replace(ALL, **change)  # type: ignore[arg-type]
    assert any(sentence in one for one in changed.sentences())
    assert not any(sentence in one for one in ALL.sentences())


def test_what_the_first_answer_will_show_is_not_denied() -> None:
    assert replace(ALL, per_position=None).sentences() == ALL.sentences()


def test_a_server_that_is_not_to_draft_says_nothing_of_drafts() -> None:
    untold = replace(ALL, drafts=DraftSource.NOT_TOLD, per_position=False, cache_off=False)
    assert len(untold.beside_drafts()) == 2
    assert not any("raft" in one for one in untold.beside_drafts())
