"""Example files of other tools, as those write them, and where they come from."""

import json
from pathlib import Path
from typing import Any

from pytest_mtp.core.imported import Origin, Pair

_FOLDER = Path(__file__).parent.parent / "data/imported"


def read(name: str) -> Any:
    """One file, decoded as Python's own reader does it, so that NaN comes through."""
    return json.loads((_FOLDER / f"{name}.json").read_text())


def mtp_bench() -> Pair:
    """Three prompts of a published table: RTX 3090, b9030, msb-msb/insiderllm-bench-results (CC BY 4.0)."""
    return Pair(read("mtp_bench_off"), read("mtp_bench_on"))


def speed_bench() -> Pair:
    """Two categories; one sample has two turns, one failed without drafts."""
    return Pair(read("speed_bench_baseline"), read("speed_bench_speculative"))


def origin(**changes: Any) -> Origin:
    """An origin that differs from the usual one by ``changes``."""
    values = {
        "run": "old",
        "profile": "p",
        "flag_set": "n3",
        "build": "b9030-267f8afe8",
        "at": "2026-05-06T12:00:00+00:00",
        "machine": {"gpu": "a card"},
    }
    return Origin(**(values | changes))
