"""What the tests of the edges share."""

import shlex
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.core.flags import negotiate
from pytest_mtp.core.isolation import Isolation
from pytest_mtp.core.profile import MeasureTable, PromptClass
from pytest_mtp.core.request_table import RequestTable
from pytest_mtp.core.server_spec import Arm, ServerSpec, Speculation
from pytest_mtp.core.side import Side
from pytest_mtp.runtime.launch import OwnLlamaServer
from pytest_mtp.runtime.plan import Plan, Seat
from pytest_mtp.runtime.probe import probe
from tests.campaigns import circumstances

PlanOf = Callable[..., Plan]

_FAKE = Path(__file__).parents[1] / "fakes" / "llama_server.py"


@pytest.fixture(scope="session")
def fake_binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An executable that is the fake llama-server, run by this interpreter."""
    binary = tmp_path_factory.mktemp("bin") / "llama-server"
    binary.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(_FAKE))} "$@"\n')
    binary.chmod(0o755)
    return binary


@pytest.fixture(scope="session")
def fake_capabilities(fake_binary: Path) -> Capabilities:
    """What the fake says that it offers."""
    return probe(fake_binary)


@pytest.fixture
def unused_port() -> Iterator[int]:
    """A port of loopback that nobody listens on, held so that nobody else can start to."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


@pytest.fixture
def plan_of(fake_binary: Path, fake_capabilities: Capabilities, tmp_path: Path) -> PlanOf:
    """A plan whose servers have the fault of their arm."""

    def make(plain: str = "honest", mtp: str = "honest", **changes: object) -> Plan:
        model = str(tmp_path / "model.gguf")
        specs = {
            Arm.PLAIN: ServerSpec(model=model, ctx=512, gpu_layers=0),
            Arm.MTP: ServerSpec(model=model, ctx=512, gpu_layers=0, speculation=Speculation(3)),
        }
        faults = {Arm.PLAIN: plain, Arm.MTP: mtp}
        plan = Plan(
            flag_set="n3",
            seats=tuple(
                Seat(
                    arm=arm,
                    spec=spec,
                    launch=OwnLlamaServer(
                        binary=fake_binary,
                        capabilities=fake_capabilities,
                        spec=spec,
                        arguments=(*negotiate(spec, fake_capabilities), "--fault", faults[arm]),
                    ),
                )
                for arm, spec in specs.items()
            ),
            classes=(PromptClass(name="a", prompt="A"), PromptClass(name="b", prompt="B")),
            request=RequestTable(tokens=9, template="<{prompt}>"),
            measure=MeasureTable(pairs=2, warmup=1, start_timeout_s=20),
            isolation=Isolation.SIDE_BY_SIDE,
            circumstances={Side.HEAD: circumstances()},
            logs=tmp_path,
            looks=(2,),
            replacements=1,
        )
        return replace(plan, **changes)  # type: ignore[arg-type]  # a test may change anything

    return make
