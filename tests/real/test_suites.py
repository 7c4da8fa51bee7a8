"""Every further suite once on a real llama-server with a small phantom: all of them find what they ask for."""

import math
from pathlib import Path

import pytest

from pytest_mtp.core.build_spec import Build
from pytest_mtp.core.study import Suite
from pytest_mtp.core.verdict import Outcome
from pytest_mtp.runtime.store import load_report
from tests.real.conftest import SMALL

# Few and short: what is asked is whether each of them finds its numbers, not what they are.
_BRIEF = (
    "suites.looks=[2]",
    "suites.pairs=1",
    "gates.looks=[2]",
    "suites.soak.for_s=4",
    "suites.context.depths=[16, 64]",
    "suites.draft_depth.n_max=[1]",
    "suites.draft_depth.p_min=[]",
    'suites.kv_cache.types=["f16", "q8_0"]',
    'suites.other_speculation.kinds=["ngram-mod"]',
    "suites.other_speculation.tokens=64",
)
_FOUND = {
    Suite.PROMPT_PROCESSING: {"prompt tok/s"},
    Suite.LATENCY: {"time to first token", "time per token", "inter-token p50", "inter-token p95"},
    Suite.DRAFT_DEPTH: {"n-max 1, p-min 0", "n-max 3, p-min 0", "tok/s at n-max 1", "tok/s at n-max 3"},
    Suite.CONTEXT: {"speedup at 64", "tokens/step at 64"},
    Suite.PARALLEL: {"throughput", "tokens/step, right", "tokens/step, mixed"},
    Suite.MEMORY: {"peak process memory", "process memory, mtp"},
    Suite.SOAK: {"speedup", "tokens/step"},
    Suite.TEXT: set(),
    Suite.KV_CACHE: {"speedup, f16", "speedup, q8_0", "mtp tok/s, q8_0", "tokens/step, q8_0"},
    Suite.OTHER_SPECULATION: {"speedup, mtp", "speedup, ngram-mod"},
}
SUITES = Path(__file__).parents[2] / "suites"
# The rest asks for more classes or longer prompts than the small profile has.
_SUITES_OF_SMALL = "not speedup and not acceptance and not absolute and not throughput and not 4"


def test_every_suite_finds_what_it_asks_for(pytester: pytest.Pytester, real_build: Build) -> None:
    told = [f"--mtp-set={one}" for one in _BRIEF]
    run = pytester.runpytest_subprocess(
        *(str(SUITES), "--mtp", "--mtp-dear", f"--mtp-profile={SMALL}", f"--mtp-source=bin:{real_build.server}"),
        *("-k", _SUITES_OF_SMALL, "--mtp-json=report.json", *told),
    )
    assert "errors" not in run.parseoutcomes()
    studies = {one.suite: one for one in load_report(pytester.path / "report.json").studies}
    assert {suite: {one.name for one in study.results} for suite, study in studies.items()} == _FOUND
    numbers = [number for one in studies.values() for row in one.results for number in (row.first, row.second)]
    assert all(0 < number < math.inf for number in numbers)
    # Short as they are, some are open; none is invalid, and none drafted nothing.
    outcomes = {suite: study.verdict.outcome for suite, study in studies.items()}
    assert set(outcomes.values()) <= {Outcome.PASS, Outcome.INCONCLUSIVE, Outcome.REGRESSION}, outcomes
