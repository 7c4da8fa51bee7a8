import time

import pytest

from pytest_mtp.runtime.bandwidth import array_bytes, read_bandwidth

MIB, GIB = 2**20, 2**30


def test_memory_reads_as_fast_as_memory_does() -> None:
    # From a machine of the nineties' end to the caches of a large one: only nonsense lies outside.
    assert 5e8 < read_bandwidth() < 1e13


@pytest.mark.parametrize(
    ("cores", "available", "size"),
    [(2, 16 * GIB, 512 * MIB), (64, 256 * GIB, 4 * GIB), (2, GIB, 256 * MIB)],
)
def test_what_is_read_exceeds_the_caches_and_leaves_the_memory_to_others(cores: int, available: int, size: int) -> None:
    assert array_bytes(cores, available) == size


def test_the_rate_is_what_was_read_over_the_best_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    # Passes of 2, 1 and 3 seconds, with looks at the clock in between.
    ticks = iter([0.0, 0.0, 2.0, 2.0, 3.0, 3.0, 6.0, 6.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(ticks))
    monkeypatch.setattr("pytest_mtp.runtime.bandwidth._available_bytes", lambda: 32 * MIB)
    assert read_bandwidth() == pytest.approx(8 * MIB)
