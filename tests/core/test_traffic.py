import io

import pytest

from pytest_mtp.core.gguf_header import Header, read_header
from pytest_mtp.core.traffic import bytes_per_token, share
from tests.fakes.gguf_file import F32, Q8_0, Tensor, fields, gguf

EMBEDDING: Tensor = ("token_embd.weight", (32, 5), F32)
OUTPUT: Tensor = ("output.weight", (32, 5), F32)
TRUNK: Tensor = ("blk.0.ffn_up.weight", (32, 64), Q8_0)
HEAD: Tensor = ("blk.1.nextn.eh_proj.weight", (64, 32), F32)


def header(*tensors: Tensor, **more: int) -> Header:
    data = gguf(fields(**more), list(tensors))
    return read_header(io.BytesIO(data), len(data))


def test_a_token_reads_the_trunk_once_and_one_row_of_the_embedding() -> None:
    # 2048 numbers of q8_0 are 64 blocks of 34 bytes; a row of the embedding is 32 floats.
    assert bytes_per_token(header(EMBEDDING, OUTPUT, TRUNK)) == 64 * 34 + 32 * 4 + 32 * 5 * 4


def test_the_head_is_not_read_by_the_plain_arm() -> None:
    assert bytes_per_token(header(EMBEDDING, OUTPUT, TRUNK, HEAD)) == bytes_per_token(header(EMBEDDING, OUTPUT, TRUNK))


def test_an_embedding_that_is_the_output_too_is_read_whole() -> None:
    assert bytes_per_token(header(EMBEDDING, TRUNK)) == 64 * 34 + 32 * 5 * 4


def test_of_the_experts_those_are_read_that_are_used() -> None:
    experts: Tensor = ("blk.0.ffn_up_exps.weight", (32, 64, 8), F32)
    sparse = header(EMBEDDING, OUTPUT, experts, expert_count=8, expert_used_count=2)
    assert bytes_per_token(sparse) == 32 * 64 * 8 * 4 // 4 + 32 * 4 + 32 * 5 * 4


def test_the_seed_tutorial_reads_two_thirds_of_its_card() -> None:
    # 38.86 tok/s of a 27B in Q4_K_M, 16.4 GB, on 936 GB/s.
    assert share(16_400_000_000, 38.86, 936e9) == pytest.approx(0.68, abs=0.005)
