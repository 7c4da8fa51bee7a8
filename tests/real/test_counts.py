"""The real server against the phantom's arithmetic, to the digit."""

from pathlib import Path

import pytest

from pytest_mtp.core.build_spec import Build
from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.core.flags import negotiate
from pytest_mtp.core.request import Answer, Request
from pytest_mtp.core.server_spec import ServerSpec, Speculation
from pytest_mtp.phantom.spec import PhantomSpec, parse_head
from pytest_mtp.phantom.writer import write
from pytest_mtp.runtime.server import Server, serve

TOKENS = 96
WRONG = (("miss00", 0.0), ("miss05", 0.05), ("miss10", 0.1), ("miss20", 0.2), ("miss35", 0.35), ("miss60", 0.6))


def phantom(head: str = "sound") -> PhantomSpec:
    return PhantomSpec(
        seed=5, layers=4, n_embd=256, n_ff=512, chain_length=128, weights="q8_0", wrong=WRONG, head=parse_head(head)
    )


def ask(server: Server, name: str) -> Answer:
    return server.ask(Request(prompt=phantom().prompt(name), n_predict=TOKENS))


def server_spec(path: Path, n_max: int | None) -> ServerSpec:
    return ServerSpec(
        model=str(path), ctx=512, gpu_layers=0, speculation=None if n_max is None else Speculation(n_max=n_max)
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("phantom") / "phantom.gguf"
    write(phantom(), path)
    return path


@pytest.mark.parametrize("n_max", [1, 2, 3, 5])
def test_every_count_follows_from_arithmetic(
    n_max: int, model: Path, real_build: Build, real_capabilities: Capabilities, tmp_path: Path
) -> None:
    spec = server_spec(model, n_max)
    arguments = negotiate(spec, real_capabilities)
    with serve(real_build.server, arguments, spec, tmp_path, start_timeout_s=60, capabilities=real_capabilities) as up:
        for name, _ in WRONG:
            before = up.client.accepted_per_position() or (0,) * n_max
            timings = ask(up, name).timings
            after = up.client.accepted_per_position()
            assert after is not None
            walk = phantom().expected(name, TOKENS, n_max)
            assert (timings.draft_n, timings.draft_n_accepted) == (walk.draft_n, walk.draft_n_accepted), name
            assert tuple(b - a for a, b in zip(before, after, strict=True)) == walk.accepted_per_position, name
            assert timings.steps == walk.steps


def test_both_arms_say_the_same(
    model: Path, real_build: Build, real_capabilities: Capabilities, tmp_path: Path
) -> None:
    texts = []
    for n_max in (None, 3):
        spec = server_spec(model, n_max)
        arguments = negotiate(spec, real_capabilities)
        with serve(
            real_build.server, arguments, spec, tmp_path, start_timeout_s=60, capabilities=real_capabilities
        ) as up:
            texts.append([ask(up, name).text for name, _ in WRONG])
    assert texts[0] == texts[1]
    assert len(set(texts[0])) == len(WRONG)


def test_a_broken_head_drafts_and_is_never_right(
    real_build: Build, real_capabilities: Capabilities, tmp_path: Path
) -> None:
    path = tmp_path / "broken.gguf"
    write(phantom("broken"), path)
    spec = server_spec(path, 3)
    arguments = negotiate(spec, real_capabilities)
    with serve(real_build.server, arguments, spec, tmp_path, start_timeout_s=60, capabilities=real_capabilities) as up:
        timings = ask(up, "miss00").timings
    assert timings.draft_n_accepted == 0
    assert timings.draft_n == phantom("broken").expected("miss00", TOKENS, 3).draft_n > 0
