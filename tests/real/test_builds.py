"""Half a year of llama.cpp against the phantom's arithmetic: flags are spelled otherwise, the counts are the same.

Slow: each build is compiled once (``make builds``); without them the tests skip.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pytest_mtp.core.build_spec import Backend, Build, BuildSpec
from pytest_mtp.core.flags import negotiate
from pytest_mtp.core.request import Request
from pytest_mtp.core.server_spec import ServerSpec, Speculation
from pytest_mtp.core.source import parse_source
from pytest_mtp.errors import FlagError
from pytest_mtp.phantom.spec import PhantomSpec
from pytest_mtp.phantom.writer import write
from pytest_mtp.runtime.build import build
from pytest_mtp.runtime.cache import Cache, default_root
from pytest_mtp.runtime.probe import probe
from pytest_mtp.runtime.progress import Progress, silent
from pytest_mtp.runtime.server import serve
from pytest_mtp.runtime.sources import fetch_source

pytestmark = pytest.mark.slow

WITH_MTP = ("9246", "9840", "10405", "11434")
BEFORE_MTP = "9101"
TOKENS, N_MAX = 64, 3
PHANTOM = PhantomSpec(
    seed=7,
    layers=4,
    n_embd=256,
    n_ff=512,
    chain_length=128,
    weights="q8_0",
    wrong=(("miss00", 0.0), ("miss20", 0.2), ("miss60", 0.6)),
)


class OnlyCached(Cache):
    """A cache that makes nothing: what is not there skips the test."""

    def entry(
        self,
        kind: str,
        recipe: Mapping[str, object],
        make: Callable[[Path], None],
        progress: Progress = silent,
        *,
        sealed: bool = False,
    ) -> Path:
        found = self.lookup(kind, recipe)
        if found is None:
            pytest.skip(f"{recipe['name']} is not in the cache; make builds compiles it")
        return found


def built(version: str) -> Build:
    shelf = Cache if os.environ.get("MTP_TEST_BUILDS") == "make" else OnlyCached
    cache = shelf(default_root())
    source = fetch_source(parse_source(f"sdist:{version}"), cache, silent)
    return build(BuildSpec(backend=Backend.CPU), source, cache, silent)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("phantom") / "phantom.gguf"
    write(PHANTOM, path)
    return path


@pytest.mark.parametrize("version", WITH_MTP)
def test_every_build_since_mtp_drafts_as_the_arithmetic_says(version: str, model: Path, tmp_path: Path) -> None:
    made = built(version)
    capabilities = probe(made.server)
    spec = ServerSpec(model=str(model), ctx=512, gpu_layers=0, speculation=Speculation(n_max=N_MAX))
    arguments = negotiate(spec, capabilities)
    with serve(made.server, arguments, spec, tmp_path, start_timeout_s=60, capabilities=capabilities) as server:
        for name, _ in PHANTOM.wrong:
            timings = server.ask(Request(prompt=PHANTOM.prompt(name), n_predict=TOKENS)).timings
            walk = PHANTOM.expected(name, TOKENS, N_MAX)
            assert (timings.draft_n, timings.draft_n_accepted) == (walk.draft_n, walk.draft_n_accepted), name


def test_a_build_from_before_mtp_says_so(model: Path) -> None:
    capabilities = probe(built(BEFORE_MTP).server)
    spec = ServerSpec(model=str(model), ctx=512, gpu_layers=0, speculation=Speculation(n_max=N_MAX))
    with pytest.raises(FlagError, match="has no MTP"):
        negotiate(spec, capabilities)
