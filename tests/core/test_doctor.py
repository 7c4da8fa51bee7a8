"""What the doctor says of machines that are not here: a card of 24 GB, a laptop, a runner that lacks a tool."""

from dataclasses import replace

import pytest

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.card import Card, CardProcess
from pytest_mtp.core.doctor import Facts, ModelFacts, Server, Tools, examine
from pytest_mtp.core.finding import Finding, State, ready
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.reports.doctor import page
from pytest_mtp.runtime.profiles import load_profile
from tests.fakes import qwen36_27b

GIB = 2**30
PROFILE = load_profile("rtx3090-qwen3.6-27b")
CARD = Card(
    index=0,
    uuid="GPU-1",
    name="NVIDIA GeForce RTX 3090",
    driver="550.54",
    memory_total_bytes=24 * GIB,
    memory_free_bytes=24 * GIB - 300 * 2**20,
    compute_capability=(8, 6),
    power_limit_w=350.0,
    default_power_limit_w=350.0,
    persistence=True,
)


def servers(cache_type: str = "q8_0") -> tuple[Server, ...]:
    table = replace(PROFILE.server, cache_type_k=cache_type, cache_type_v=cache_type)
    profile = replace(PROFILE, server=table)
    specs = [profile.server_spec("n3", model="m", speculative=arm is Arm.MTP) for arm in Arm]
    return tuple(Server(flag_set="n3", spec=spec) for spec in specs)


FACTS = Facts(
    machine="Linux x86_64, Some CPU, 8 cores",
    memory_total_bytes=32 * GIB,
    memory_free_bytes=28 * GIB,
    backend=Backend.CUDA,
    tools=Tools(words="g++ 12.2.0, nvcc 12.4, CMake 3.31.9, ninja, ccache"),
    cards=(CARD,),
    model=ModelFacts(
        label=PROFILE.model.spec, size=qwen36_27b.FILE_BYTES, header=qwen36_27b.header(), from_hub=True, token=False
    ),
    servers=servers(),
    cache="/home/me/.cache/pytest-mtp",
    cache_free_bytes=100 * 10**9,
    cache_holds="empty",
    hub_cache="/home/me/.cache/huggingface/hub",
    hub_free_bytes=100 * 10**9,
)


def said(findings: tuple[Finding, ...], state: State, subject: str = "") -> str:
    return "\n".join(one.said for one in findings if one.state is state and one.subject.startswith(subject))


def test_the_tutorials_server_fits_on_a_card_of_24_gb() -> None:
    findings = examine(FACTS)
    assert ready(findings)
    memory = said(findings, State.HAVE, "memory")
    assert "n3 plain, ctx 100000: " in memory
    assert "n3 mtp, ctx 100000: " in memory


def test_with_a_cache_of_f16_the_mtp_arm_says_which_context_would_fit() -> None:
    facts = replace(FACTS, servers=servers("f16"), cards=(replace(CARD, memory_total_bytes=23 * GIB),))
    findings = examine(facts)
    assert not ready(findings)
    assert "It fits with --mtp-set server.ctx=" in said(findings, State.LACK, "memory")


@pytest.mark.parametrize(
    ("changes", "state", "sentence"),
    [
        ({"tools": Tools(words="g++", lacks=("There is no cmake; run this.",))}, State.LACK, "There is no cmake"),
        ({"tools": Tools(words="g++", hints=("install ccache",))}, State.NOTE, "install ccache"),
        ({"card_problem": "No usable NVIDIA GPU.", "cards": ()}, State.LACK, "No usable NVIDIA GPU."),
        ({"processes": (CardProcess(7, "python", GIB),)}, State.LACK, "python (pid 7, 1024 MiB) computes on the card"),
        ({"processes": None}, State.NOTE, "does not tell which processes"),
        ({"other_cards": 1}, State.NOTE, "--mtp-gpu-id"),
        ({"cards": (replace(CARD, persistence=False),)}, State.NOTE, "sudo nvidia-smi -pm 1"),
        ({"cards": (replace(CARD, power_limit_w=280.0),)}, State.NOTE, "power limit 280 W of 350 W"),
        ({"cards": (replace(CARD, memory_free_bytes=10 * GIB),)}, State.NOTE, "only 10.0 GiB are free now"),
        ({"cards": (replace(CARD, memory_total_bytes=16 * GIB),)}, State.LACK, "It fits with no context"),
        ({"cache_free_bytes": 10**9}, State.LACK, "a build takes 2.00 GB"),
        ({"hub_free_bytes": 10**9}, State.LACK, "the model takes 17.00 GB; free space, or move the cache"),
        ({"model": replace(FACTS.model, token=True)}, State.HAVE, "a token is there"),
        ({"model": replace(FACTS.model, header=None, problem="The hub cannot be reached.")}, State.LACK, "be reached"),
        ({"model": replace(FACTS.model, header=None)}, State.NOTE, "15.8 GiB of weights; caches cannot be computed"),
    ],
)
def test_what_a_machine_lacks_is_told_apart_from_what_it_should_know(
    changes: dict[str, object], state: State, sentence: str
) -> None:
    facts = replace(FACTS, **changes)  # type: ignore[arg-type]  # a row may change anything
    findings = examine(facts)
    assert sentence in said(findings, state)
    assert ready(findings) is (state is not State.LACK)


def test_a_file_without_its_mtp_layer_is_a_lack() -> None:
    header = qwen36_27b.header()
    bare = replace(header, fields={key: value for key, value in header.fields.items() if "nextn" not in key})
    findings = examine(replace(FACTS, model=replace(FACTS.model, header=bare)))
    assert not ready(findings)


def test_on_a_cpu_the_memory_of_the_machine_counts() -> None:
    table = replace(PROFILE.server, gpu_layers=0)
    spec = replace(PROFILE, server=table).server_spec("n3", model="m", speculative=True)
    facts = replace(FACTS, backend=Backend.CPU, cards=(), servers=(Server(flag_set="n3", spec=spec),))
    assert " of memory (weights" in said(examine(facts), State.HAVE, "memory")
    assert not ready(examine(replace(facts, memory_total_bytes=8 * GIB)))


@pytest.mark.parametrize("width", [80, 200])
def test_the_page_keeps_to_the_width_and_marks_what_is_lacking(width: int) -> None:
    facts = replace(FACTS, cards=(replace(CARD, memory_total_bytes=16 * GIB),))
    lines = page("Profile p: words", examine(facts), "This machine cannot run it.", width)
    assert max(map(len, lines)) <= width
    assert sum(line.startswith("LACKS") for line in lines) == 2


def test_a_command_at_the_end_of_the_page_can_be_copied_however_long_its_paths_are() -> None:
    path = f"--mtp-cache-dir=/{'a-long-name/' * 9}end"
    lines = page(f"Profile {path}:", [], f"Measure with: pytest --mtp {path}", 80)
    assert lines == ["Profile", f"{path}:", "Measure with: pytest --mtp", path]
