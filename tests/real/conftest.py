"""A real llama-server for the tests: the build that the gate uses, compiled once and then cached."""

from pathlib import Path

import pytest

from pytest_mtp.core.build_spec import Backend, Build, BuildSpec
from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.core.source import parse_source
from pytest_mtp.runtime.build import build
from pytest_mtp.runtime.cache import Cache, default_root
from pytest_mtp.runtime.probe import probe
from pytest_mtp.runtime.profiles import load_profile
from pytest_mtp.runtime.progress import silent
from pytest_mtp.runtime.sources import fetch_source

SMALL = Path(__file__).parent / "small.toml"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies in this folder as ``real``."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.real)


@pytest.fixture(scope="session")
def real_build() -> Build:
    """The llama-server of the embedded profile; minutes the first time, then a cache hit."""
    cache = Cache(default_root())
    source = fetch_source(parse_source(load_profile("phantom").source.spec), cache, silent)
    return build(BuildSpec(backend=Backend.CPU), source, cache, silent)


@pytest.fixture(scope="session")
def real_capabilities(real_build: Build) -> Capabilities:
    """What it offers."""
    return probe(real_build.server)
