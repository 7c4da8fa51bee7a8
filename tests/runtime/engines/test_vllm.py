"""vLLM, whose counters are those of the whole server."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

from pytest_mtp.core.engine_answer.knowledge import DraftSource
from pytest_mtp.errors import MeasureError
from tests.fakes.engines import vllm
from tests.fakes.engines.peer import PLAIN, REQUEST, TAU
from tests.runtime.engines.conftest import At


def test_another_clients_requests_make_the_counters_useless(at: At) -> None:
    server = at(vllm.Vllm(others=7))
    with pytest.raises(MeasureError, match=r"counted 29 tokens while it made the 22 .* another client's requests"):
        server.ask(REQUEST)


def test_counters_that_come_after_the_answer_are_waited_for(at: At) -> None:
    assert at(vllm.Vllm(lag=4)).told(REQUEST).tau == TAU


def test_a_server_that_was_started_anew_is_noticed(at: At) -> None:
    state = vllm.Vllm()
    server = at(state)
    server.ask(replace(REQUEST, n_predict=40))
    state.fault = "restarted"
    with pytest.raises(MeasureError, match="the server was started anew meanwhile"):
        server.ask(REQUEST)


def test_drafts_of_requests_at_the_same_time_are_not_told_apart(at: At) -> None:
    state = vllm.Vllm(together=Barrier(3))
    server = at(state)
    with ThreadPoolExecutor(3) as pool:
        told = list(pool.map(server.told, [REQUEST] * 3))
    assert [(one.tokens, one.drafts) for one in told] == [(22, None)] * 3
    state.together = None
    assert server.told(REQUEST).tau == TAU


def test_statistics_that_are_off_prove_and_tell_nothing(at: At) -> None:
    server = at(vllm.Vllm(metrics=False))
    knowledge = server.knowledge
    assert (knowledge.drafts, knowledge.speculation_proof) == (DraftSource.NOT_TOLD, False)
    assert server.told(REQUEST).drafts is None


def test_another_clients_requests_are_noticed_on_the_plain_arm_too(at: At) -> None:
    server = at(vllm.Vllm(script=PLAIN, others=7), "plain={url}")
    with pytest.raises(MeasureError, match=r"counted 29 tokens while it made the 22 .* another client's requests"):
        server.ask(REQUEST)
