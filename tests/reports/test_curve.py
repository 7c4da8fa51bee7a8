from dataclasses import replace
from typing import Any

import pytest

from pytest_mtp.core.curve_report import CurveReport
from pytest_mtp.reports.curve import page
from tests.curves import point, report

MEMORY: dict[str, Any] = {"bytes_per_token": 2**30, "memory_bandwidth": 3e11}


def text(made: CurveReport, width: int = 80) -> str:
    return "\n".join(page(made, width))


def test_the_page_says_when_it_pays_and_where_the_time_goes() -> None:
    made = report(point(1.0, 2.0, **MEMORY), point(2.0, 2.0), point(4.0, 2.0), notices=("llama-bench was not told",))
    shown = text(made)
    assert "        2.00       2.00  [1.96, 2.04]        1.00x  [0.98, 1.02]          4\n" in shown
    assert "MTP pays above 2.00 tokens per step on this machine (95 % interval" in shown
    assert "        2.00       1.40      0.40      0.20   1.11x     1.00x         90%\n" in shown
    assert "misses the worst of them by 0.0%" in " ".join(shown.split())
    assert "read 1.0 GiB of weights each: 107.4 GB/s, 36% of the 300.0 GB/s" in " ".join(shown.split())
    assert shown.endswith("\nnote: llama-bench was not told")


@pytest.mark.parametrize("width", [80, 100, 128])
def test_no_line_is_wider_than_the_terminal_nor_an_interval_cut(width: int) -> None:
    lines = list(page(report(point(1.0, 2.0, **MEMORY), point(4.0, 2.0), notices=("a word " * 30,)), width))
    assert max(map(len, lines)) <= width
    assert all(line.count("[") == line.count("]") for line in lines)


def test_without_llama_bench_there_is_no_table_of_parts() -> None:
    assert "verifying" not in text(report(bench=()))


def test_an_impossible_efficiency_is_explained() -> None:
    assert "something disturbed llama-bench" not in text(report(point(2.0, 2.0, drafting=0.65)))
    assert "something disturbed llama-bench" in text(report(point(2.0, 2.0, drafting=0.8)))


def test_one_block_has_no_interval() -> None:
    single = point(2.0, 2.0)
    single = replace(single, campaign=replace(single.campaign, blocks=single.campaign.blocks[:1]))
    shown = text(report(single))
    assert "  -  " in shown
    assert "without an interval" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("card_memory_bytes", "words"),
    [(None, "this machine's memory was measured to give"), (24 * 2**30, "the card is made for")],
)
def test_the_bandwidth_says_whose_it_is(card_memory_bytes: int | None, words: str) -> None:
    made = report(point(2.0, 2.0, card_memory_bytes=card_memory_bytes, **MEMORY))
    assert words in " ".join(text(made).split())
