"""What the tests of the edges share."""

import shlex
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.runtime.probe import probe

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
