"""llama-bench of the same source as the server: a batch of drafts against single tokens, on a small phantom.

Slow: its target is compiled once (MTP_TEST_BUILDS=make); without it the test skips.
"""

import os
from pathlib import Path

import pytest

from pytest_mtp.core.build_spec import Backend, BuildSpec
from pytest_mtp.core.llama_bench import BenchShape, batch_cost
from pytest_mtp.core.server_spec import ServerSpec
from pytest_mtp.core.source import parse_source
from pytest_mtp.phantom.writer import write
from pytest_mtp.runtime.cache import Cache, default_root
from pytest_mtp.runtime.llama_bench import bench_binary, build_with_bench, run_bench
from pytest_mtp.runtime.progress import silent
from pytest_mtp.runtime.sources import fetch_source
from tests.real.test_builds import OnlyCached
from tests.real.test_synth import phantom

pytestmark = pytest.mark.slow

SHAPE = BenchShape(batch=4, batches=8, repetitions=3)


def test_a_batch_of_drafts_is_measured_against_single_tokens(tmp_path: Path) -> None:
    cache = (Cache if os.environ.get("MTP_TEST_BUILDS") == "make" else OnlyCached)(default_root())
    source = fetch_source(parse_source("sdist:11434"), cache, silent)
    made = build_with_bench(BuildSpec(backend=Backend.CPU), source, cache, silent)
    write(phantom("sound"), tmp_path / "model.gguf")
    spec = ServerSpec(model=str(tmp_path / "model.gguf"), ctx=512, gpu_layers=0, cache_type_k="q8_0", threads=1)
    tests = run_bench(bench_binary(made), spec, SHAPE, timeout_s=120)
    assert [(one.n_prompt, one.n_gen, one.n_batch, one.n_threads) for one in tests] == [(32, 0, 4, 1), (0, 32, 4, 1)]
    # Known of any machine: a batch is no cheaper than half a token, nor dearer than twice its tokens.
    assert 0.5 < batch_cost(tests, 4).ratio < 8
