"""Engines that tell no drafts: Ollama, and whatever speaks OpenAI's API."""

from dataclasses import replace

import pytest

from pytest_mtp.core.precondition import complaint
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.errors import MeasureError
from tests.fakes.engines import ollama, openai
from tests.fakes.engines.peer import REQUEST, Peer
from tests.runtime.engines.conftest import At


def test_ollama_times_are_the_servers(at: At) -> None:
    timings = at(ollama.Ollama()).ask(REQUEST).timings
    assert (timings.predicted_ms, timings.prompt_ms, timings.ms_per_token) == (1.25 * 21, 7.5, 1.25)


@pytest.mark.parametrize("state", [ollama.Ollama(), openai.OpenAi()])
def test_an_engine_without_ids_says_so(at: At, state: Peer) -> None:
    server = at(state)
    for ask in (lambda: server.client.tokens("a"), lambda: server.ask(replace(REQUEST, prompt=("a", 1)))):
        with pytest.raises(MeasureError, match="leave length out of the prompt classes"):
            ask()


def test_an_answer_that_ended_early_is_refused(at: At) -> None:
    answer = at(ollama.Ollama(ends_after=5)).ask(REQUEST)
    assert complaint(answer, 22, Arm.MTP) == "5 tokens came, 22 were asked for (eos)"


def test_an_answer_without_usage_says_that_its_tokens_are_not_known(at: At) -> None:
    with pytest.raises(MeasureError, match="has no usage, so it is not known how many tokens came"):
        at(openai.OpenAi(usage=False)).ask(REQUEST)


@pytest.mark.parametrize("state", [ollama.Ollama(), openai.OpenAi()])
def test_what_is_not_told_is_none_and_said(at: At, state: Peer) -> None:
    server = at(state)
    told = server.told(REQUEST)
    assert (told.drafts, told.tau, server.client.accepted_per_position(), server.client.speculative()) == (None,) * 4
    assert any("Drafts are not told" in one for one in server.knowledge.sentences())
