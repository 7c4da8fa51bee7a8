import math
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mtp.core.capabilities import Capabilities, parse_help
from pytest_mtp.core.llama_bench import (
    KNOWN_BY,
    BenchShape,
    BenchTest,
    batch_cost,
    bench_arguments,
    left_out,
    parse_bench,
)
from pytest_mtp.core.server_spec import ServerSpec
from pytest_mtp.errors import FlagError, InputError

DATA = Path(__file__).parent / "data" / "llama_bench"
SPEC = ServerSpec(model="model.gguf", ctx=4096, gpu_layers=99)
SHAPE = BenchShape(batch=4, batches=16, repetitions=3)


def offered() -> Capabilities:
    return parse_help((DATA / "help-b11434.txt").read_text(), known_by=KNOWN_BY)


@pytest.mark.parametrize(("tps", "repetitions"), [(1.0, 5), (40.0, 5), (640.0, 30), (10_000.0, 100)])
def test_a_fast_model_is_measured_more_often(tps: float, repetitions: int) -> None:
    assert BenchShape.lasting(4, tps) == BenchShape(batch=4, repetitions=repetitions)


def test_batches_and_single_tokens_reach_the_same_context() -> None:
    line = " ".join(bench_arguments(SPEC, SHAPE, offered()))
    assert line == "-m model.gguf -p 64 -n 64 -b 4 -r 3 -ngl 99 -fa on -o json"


def test_what_the_server_is_told_llama_bench_is_told_too() -> None:
    extra = ("-sm", "row", "--tensor-split", "3,1", "--no-mmap", "-ncmoe", "12", "--seed", "-1")
    spec = replace(SPEC, threads=6, cache_type_k="q8_0", cache_type_v="q4_0", flash_attn="auto", extra=extra)
    line = " ".join(bench_arguments(spec, SHAPE, offered()))
    for words in ("-t 6", "-ctk q8_0", "-ctv q4_0", "-fa auto", "-sm row", "-ts 3/1", "-ncmoe 12"):
        assert f" {words} " in line
    assert left_out(spec) == ("--no-mmap", "--seed")


def test_older_builds_take_a_number_for_flash_attention() -> None:
    text = (DATA / "help-b11434.txt").read_text().replace("<on|off|auto>", "<0|1>         ")
    older = parse_help(text, known_by=KNOWN_BY)
    for value, word in (("on", "1"), ("off", "0"), ("auto", "1")):
        assert f" -fa {word} " in " ".join(bench_arguments(replace(SPEC, flash_attn=value), SHAPE, older))


def test_a_flag_that_llama_bench_lacks_is_named() -> None:
    text = (DATA / "help-b11434.txt").read_text().replace("-ctk, --cache-type-k", "--another")
    with pytest.raises(FlagError, match=r"no -ctk.*--no-bench"):
        bench_arguments(replace(SPEC, cache_type_k="q8_0"), SHAPE, parse_help(text, known_by=KNOWN_BY))


def test_what_a_real_llama_bench_printed_is_read() -> None:
    # A small phantom on two cores: 64 tokens by four, 64 one by one.
    batches, single = parse_bench((DATA / "b11434.json").read_text())
    assert (batches.n_prompt, batches.n_gen, batches.n_batch, batches.n_threads) == (64, 0, 4, 2)
    assert (single.n_prompt, single.n_gen) == (0, 64)
    assert len(batches.samples_ns) == len(single.samples_ns) == 3
    cost = batch_cost((batches, single), 4)
    assert cost.blocks == 3
    of_means = (sum(batches.samples_ns) / 16) / (sum(single.samples_ns) / 64)
    assert cost.ratio == pytest.approx(of_means, rel=0.02)


def test_a_batch_costs_its_time_over_that_of_a_token() -> None:
    # 4 batches of 4 in 32 ms are 8 ms each; 8 tokens in 40 ms are 5 ms each.
    batches = BenchTest(n_prompt=16, n_gen=0, n_batch=4, n_threads=1, samples_ns=(32_000_000, 32_000_000))
    single = BenchTest(n_prompt=0, n_gen=8, n_batch=4, n_threads=1, samples_ns=(40_000_000, 40_000_000))
    assert [math.exp(log) for log in batch_cost((single, batches), 4).logs] == pytest.approx([1.6, 1.6])


@pytest.mark.parametrize("batch", [3, 5])
def test_another_batch_than_was_measured_is_refused(batch: int) -> None:
    with pytest.raises(InputError, match=f"batches of {batch} tokens"):
        batch_cost(parse_bench((DATA / "b11434.json").read_text()), batch)


@pytest.mark.parametrize("text", ["", "[", "[{}]", '{"n_prompt": 1}', "| model | size |", "[1]"])
def test_other_output_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not what llama-bench -o json prints"):
        parse_bench(text)
