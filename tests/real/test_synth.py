"""Acceptance by chance on the real server: the counts are near the rates that were asked for."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from pytest_mtp.core.build_spec import Build
from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.core.cost_curve import rates_of
from pytest_mtp.core.draft_statistics import draft_statistics
from pytest_mtp.core.flags import negotiate
from pytest_mtp.core.request import Request
from pytest_mtp.core.server_spec import ServerSpec, Speculation
from pytest_mtp.core.timings import Timings
from pytest_mtp.phantom.spec import PhantomSpec, parse_head
from pytest_mtp.phantom.writer import write
from pytest_mtp.runtime.server import Server, serve

N_MAX, TOKENS, SEEDS = 3, 200, 8


def phantom(head: str) -> PhantomSpec:
    return PhantomSpec(
        seed=3,
        layers=4,
        n_embd=256,
        n_ff=512,
        chain_length=64,
        weights="q8_0",
        wrong=(("right", 0.0),),
        head=parse_head(head),
    )


Serve = Callable[..., AbstractContextManager[Server]]


@pytest.fixture
def taking(real_build: Build, real_capabilities: Capabilities, tmp_path: Path) -> Serve:
    """Serves a phantom with the given head whose drafts are taken by the given chances."""

    def serving(head: str, rates: tuple[float, ...]) -> AbstractContextManager[Server]:
        model = tmp_path / "model.gguf"
        write(phantom(head), model)
        spec = ServerSpec(model=str(model), ctx=512, gpu_layers=0, speculation=Speculation(N_MAX, synth_rates=rates))
        arguments = negotiate(spec, real_capabilities)
        return serve(real_build.server, arguments, spec, tmp_path, start_timeout_s=60, capabilities=real_capabilities)

    return serving


def ask(server: Server, seed: int) -> Timings:
    return server.ask(Request(prompt=phantom("sound").prompt("right"), n_predict=TOKENS, seed=seed)).timings


@pytest.mark.parametrize(
    ("head", "rates"),
    [
        ("broken", (0.9, 0.7, 0.5)),  # a head that is never right, taken all the same
        ("sound", rates_of(1.5, N_MAX)),  # one that always is, and mostly refused
        ("sound", (0.6,)),  # places without a rate are never taken
        ("sound", rates_of(1.0, N_MAX)),
        ("broken", rates_of(4.0, N_MAX)),
    ],
)
def test_drafts_are_taken_as_often_as_asked(head: str, rates: tuple[float, ...], taking: Serve) -> None:
    wanted = (*rates, *[0.0] * (N_MAX - len(rates)))
    with taking(head, rates) as server:
        timings = [ask(server, seed) for seed in range(SEEDS)]
        counted = server.client.accepted_per_position()
    statistics = draft_statistics(server.log_text())
    steps = sum(one.steps for one in timings)
    assert counted is not None
    # Four standard deviations of some 400 to 1600 steps; a request's last draft may be cut short.
    assert [count / steps for count in counted] == pytest.approx(list(wanted), abs=0.1)
    tau = sum(one.predicted_n - 1 for one in timings) / steps
    assert tau == pytest.approx(1 + sum(wanted), abs=0.15)
    assert statistics is not None
    assert statistics.accepted_tokens == sum(one.draft_n_accepted for one in timings)
    assert statistics.tokens == sum(one.draft_n or 0 for one in timings)


def test_a_seed_repeats_its_chances(taking: Serve) -> None:
    with taking("sound", (0.8, 0.5, 0.3)) as server:
        counts = [ask(server, seed).draft_n_accepted for seed in (42, 43, 42)]
    assert counts[0] == counts[2] != counts[1]
