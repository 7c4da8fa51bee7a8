"""``--mtp-endpoint``: the gate over servers that somebody else started, in the dialects of their engines."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.engines import ollama, sglang, vllm
from tests.fakes.engines.script import Script
from tests.fakes.loopback import serving
from tests.plugin.gates import without_further_suites
from tests.runtime.test_vllm_launch import executable

# Steps accept 3 1 0 2 3 1 0 2 3 of 3 drafts; of the last one's 4 tokens one is asked for.
TOKENS, STEPS = 22, 9
PLAIN = Script(k=0)
PROFILE = """
extends = "running-servers"
unset = ["classes"]
name = "peers"
description = "Stand-ins."
request = {{ tokens = {tokens} }}
measure = {{ pairs = 1, warmup = 1 }}
gates = {{ looks = [2] }}
classes = [{{ name = "sea", prompt = "how is the sea", floor = {floor} }}]
"""


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


Gate = Callable[..., pytest.RunResult]


@pytest.fixture
def gate(pytester: pytest.Pytester, stack: ExitStack) -> Gate:
    """The gate's own suites over two stand-ins."""

    def run(
        plain: type[BaseHTTPRequestHandler] | None,
        mtp: type[BaseHTTPRequestHandler] | None,
        *more: str,
        floor: float = 0.9,
    ) -> pytest.RunResult:
        profile = pytester.path / "peers.toml"
        profile.write_text(PROFILE.format(tokens=TOKENS, floor=floor))
        urls = {arm: stack.enter_context(serving(one)) for arm, one in (("plain", plain), ("mtp", mtp)) if one}
        return pytester.runpytest_inprocess(
            *without_further_suites(),
            "--mtp",
            f"--mtp-profile={profile}",
            *(f"--mtp-endpoint={arm}={url}/v1" for arm, url in urls.items()),
            "--mtp-json=run.json",
            *more,
        )

    return run


def silent() -> type[BaseHTTPRequestHandler]:
    """An engine that tells no drafts, and claims the same short time for each token."""
    return ollama.handler(ollama.Ollama(step_ns=1000))


def campaign() -> dict[str, Any]:
    """What was measured."""
    found: dict[str, Any] = json.loads(Path("run.json").read_text())["judged"][0]
    return found


@pytest.mark.parametrize(
    ("plain", "mtp", "label"),
    [
        (vllm.handler(vllm.Vllm(script=PLAIN)), vllm.handler(vllm.Vllm()), "vLLM 0.11.2"),
        (sglang.handler(sglang.Sglang(script=PLAIN)), sglang.handler(sglang.Sglang()), "SGLang 0.5.9"),
    ],
    ids=["vllm", "sglang"],
)
def test_tau_and_acceptance_are_the_engines_own_to_the_digit(
    gate: Gate, plain: type[BaseHTTPRequestHandler], mtp: type[BaseHTTPRequestHandler], label: str
) -> None:
    # The client's clock times nothing here: any speedup is above such a floor.
    assert gate(plain, mtp, "-k", "speedup or acceptance", floor=1e-9).parseoutcomes()["passed"] == 2
    judged = campaign()
    found = judged["results"][0]["acceptance"]
    assert (found["tokens"] / (found["tokens"] - found["accepted"])) == (TOKENS - 1) / STEPS
    # One answer in each of two blocks.
    assert found["drafted"] == 2 * 3 * STEPS
    assert judged["campaign"]["circumstances"]["build_label"] == f"{label}, running"


def test_what_an_engine_does_not_tell_is_skipped_and_leaves_the_run_green(gate: Gate) -> None:
    told = gate(silent(), silent(), "-k", "speedup or acceptance", "-rs")
    told.assert_outcomes(passed=1, skipped=1)
    assert told.ret == 0
    told.stdout.fnmatch_lines(["*NOT_TOLD: the engine does not tell its drafts*"])
    judged = campaign()
    result, block = judged["results"][0], judged["campaign"]["blocks"][0]
    assert (result["speedup"], result["acceptance"], result["step_cost"]) == (1.0, None, None)
    assert {sample["timings"]["draft_n"] for start in block["starts"] for sample in start["samples"]} == {None}


def test_a_loss_is_red_without_a_factor_to_blame(gate: Gate) -> None:
    told = gate(silent(), silent(), "-k", "speedup", floor=1.5)
    assert told.ret == 1
    verdict = campaign()["results"][0]["speed"]
    assert (verdict["outcome"], verdict["cause"]) == ("REGRESSION", None)


def test_the_page_of_such_a_run_is_written(gate: Gate) -> None:
    assert gate(silent(), silent(), "-k", "speedup", "--mtp-out=out").ret == 0
    page = Path("out", "report.html").read_text()
    assert "every block met the same life" in page
    assert "Drafts are not told" in page


@pytest.mark.parametrize(
    ("plain", "mtp", "sentence"),
    [
        (vllm.Vllm(script=PLAIN), vllm.Vllm(others=7), "failed in warm-up, which says nothing about MTP"),
        (vllm.Vllm(script=PLAIN, others=7), vllm.Vllm(), "the plain server, which was started elsewhere"),
        (vllm.Vllm(script=PLAIN), vllm.Vllm(fault="dies"), "the mtp server, which was started elsewhere"),
    ],
    ids=["others use the mtp arm", "others use the plain arm", "the mtp arm breaks off"],
)
def test_what_a_server_of_others_does_is_no_loss(gate: Gate, plain: vllm.Vllm, mtp: vllm.Vllm, sentence: str) -> None:
    assert gate(vllm.handler(plain), vllm.handler(mtp), "-k", "speedup").ret == 17
    judged = campaign()
    assert judged["results"][0]["speed"]["outcome"] == "INVALID"
    assert all(sentence in block["invalid"] for block in judged["campaign"]["blocks"])


def test_a_flag_set_that_samples_is_known_of_running_servers(gate: Gate) -> None:
    gate(silent(), silent(), "-k", "speedup", "--mtp-set=flag_sets.as-they-run.sampled=true", "--mtp-set=server.temp=1")
    assert campaign()["campaign"]["circumstances"]["flags"] == {"sampled": "true"}


def test_arms_of_two_models_are_compared_with_a_note(gate: Gate) -> None:
    other = ollama.handler(ollama.Ollama(step_ns=1000, models=("other:8b",)))
    gate(silent(), other, "-k", "speedup").stdout.fnmatch_lines(
        ["*The plain arm serves qwen3:8b and the mtp arm other*"]
    )


def test_one_server_by_two_spellings_is_no_comparison(gate: Gate, stack: ExitStack) -> None:
    url = stack.enter_context(serving(silent()))
    both = (f"--mtp-endpoint=plain={url}#qwen3:8b", f"--mtp-endpoint=mtp={url.replace('127.0.0.1', 'LOCALHOST')}")
    told = gate(None, None, *both, "-k", "speedup")
    told.assert_outcomes(errors=1)
    told.stdout.fnmatch_lines(["*one server either drafts or does not; start two*"])


@pytest.mark.parametrize(
    ("plain", "mtp"),
    [
        (sglang.handler(sglang.Sglang(script=PLAIN)), sglang.handler(sglang.Sglang())),
        (vllm.handler(vllm.Vllm(script=PLAIN)), vllm.handler(vllm.Vllm())),
    ],
    ids=["sglang", "vllm"],
)
def test_notes_say_what_the_mtp_arm_tells_and_nothing_false(
    gate: Gate, plain: type[BaseHTTPRequestHandler], mtp: type[BaseHTTPRequestHandler]
) -> None:
    gate(plain, mtp, "-k", "speedup", floor=1e-9)
    notices = " ".join(campaign()["notices"])
    assert notices.count("Drafts are ") == 1
    assert "by their place" not in notices


def test_arms_of_two_engines_are_no_comparison(gate: Gate) -> None:
    told = gate(silent(), vllm.handler(vllm.Vllm()), "-k", "speedup")
    assert told.ret == 1
    told.stdout.fnmatch_lines(["*The plain arm is Ollama 0.12.6 and the mtp arm vLLM*"])


def test_a_chat_is_asked_of_no_engine_but_llama_server(gate: Gate) -> None:
    chat = ("--mtp-set=request.endpoint=chat", "--mtp-set=request.thinking=false")
    told = gate(silent(), silent(), "-k", "speedup", *chat)
    told.assert_outcomes(errors=1)
    told.stdout.fnmatch_lines(["*only llama-server's is asked, not that of Ollama: set*"])


def test_what_needs_other_flags_is_left_out(pytester: pytest.Pytester, gate: Gate) -> None:
    suites = Path(__file__).parents[2] / "suites"
    named = [str(suites / f"test_{one}.py") for one in ("draft_depth", "kv_cache", "prompt_processing")]
    told = gate(silent(), silent(), *named, "-rs")
    told.assert_outcomes(skipped=5)
    for why in ("flags cannot be changed", "no llama.cpp is compiled", "no prompt can be given a length"):
        told.stdout.fnmatch_lines([f"*{why}*"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--mtp-endpoint=plain=http://127.0.0.1:1"], "The mtp arm has no endpoint"),
        (["--mtp-source=bin:x"], "--mtp-source has no meaning for servers that run already: drop it."),
        (["--mtp-isolation=alternate"], "--mtp-isolation has no meaning for servers that run already"),
        (["--mtp-profile=running-servers"], "name them with --mtp-endpoint plain=URL"),
    ],
)
def test_a_wish_that_cannot_be_met_is_said_before_anything_runs(
    pytester: pytest.Pytester, options: list[str], sentence: str
) -> None:
    both = ["--mtp-endpoint=plain=http://127.0.0.1:1", "--mtp-endpoint=mtp=http://127.0.0.1:2"]
    alone = options[0].startswith(("--mtp-endpoint", "--mtp-profile"))
    told = pytester.runpytest_inprocess("--mtp", *([] if alone else both), *options)
    assert told.ret == pytest.ExitCode.USAGE_ERROR
    assert sentence in " ".join(told.errlines)


def test_a_server_that_is_not_there_is_named(pytester: pytest.Pytester) -> None:
    both = ["--mtp-endpoint=plain=http://127.0.0.1:1", "--mtp-endpoint=mtp=http://127.0.0.1:2"]
    told = pytester.runpytest_inprocess("--mtp", *both, *without_further_suites(), "-k", "speedup and code_python")
    told.assert_outcomes(errors=1)
    told.stdout.fnmatch_lines(["*127.0.0.1:1*"])


VLLM = """
extends = "running-servers"
unset = ["classes", "flag_sets.as-they-run"]
name = "own-vllm"
description = "A stand-in that is started."
serving = "vllm"
model = { spec = "org/model" }
server = { gpu_layers = 99 }
request = { tokens = 22 }
measure = { pairs = 1, warmup = 1, isolation = "side-by-side" }
gates = { looks = [2] }
flag_sets = { n2 = { n_max = 2, p_min = 0.0 } }
classes = [{ name = "sea", prompt = "how is the sea", floor = 1e-9 }]
"""


def test_a_profile_starts_vllm_itself(
    pytester: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable(tmp_path / "vllm")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    profile = pytester.path / "own-vllm.toml"
    profile.write_text(VLLM)
    wishes = ("--mtp", f"--mtp-profile={profile}", "--mtp-json=run.json", "-k", "speedup or acceptance")
    told = pytester.runpytest_inprocess(*without_further_suites(), *wishes)
    assert told.ret == 0
    judged = campaign()
    # Steps accept 1 0 1 0 of 2 drafts: 21 tokens after the first are 14 steps.
    counts = judged["results"][0]["acceptance"]
    assert counts["tokens"] / (counts["tokens"] - counts["accepted"]) == 21 / 14
    around = judged["campaign"]["circumstances"]
    assert (around["build_label"], around["model_label"], around["flags"]["n_max"]) == ("vLLM 0.11.2", "org/model", "2")
    places = {start["command"].split()[0] for block in judged["campaign"]["blocks"] for start in block["starts"]}
    assert places == {str(tmp_path / "vllm")}


def test_without_vllm_its_profile_says_what_is_missing(
    pytester: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    profile = pytester.path / "own-vllm.toml"
    profile.write_text(VLLM)
    told = pytester.runpytest_inprocess(*without_further_suites(), "--mtp", f"--mtp-profile={profile}", "-k", "speedup")
    told.assert_outcomes(errors=1)
    told.stdout.fnmatch_lines(["*there is no command vllm here: install it*"])
