"""What this machine's memory gives when every usable core reads: the ceiling of decoding on a CPU."""

import os
import time
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Part = NDArray[np.uint64]

_LEAST_BYTES = 512 * 2**20
# Large processors have caches that grow with their cores.
_BYTES_PER_CORE = 64 * 2**20
_MEMORY_SHARE = 0.25
_ENOUGH_S = 0.5
_FEWEST_PASSES, _MOST_PASSES = 3, 20


def read_bandwidth() -> float:
    """Bytes per second, the best of a few passes over an array that no cache holds; a second, and half a GiB.

    Weights are read the same way: once, in order, by all cores. Neighbours on the machine lower it.
    """
    cores = _cores()
    with ThreadPoolExecutor(cores) as threads:
        parts = _parts(threads, cores, array_bytes(cores, _available_bytes()))
        began = time.perf_counter()
        passes: list[float] = []
        while len(passes) < _MOST_PASSES and (len(passes) < _FEWEST_PASSES or time.perf_counter() - began < _ENOUGH_S):
            passes.append(_pass_s(threads, parts))
    return sum(part.nbytes for part in parts) / min(passes)


def array_bytes(cores: int, available_bytes: int) -> int:
    """How much is read: beyond the caches, and a quarter of the free memory at most."""
    return min(max(_LEAST_BYTES, cores * _BYTES_PER_CORE), int(available_bytes * _MEMORY_SHARE))


def _parts(threads: Executor, cores: int, size: int) -> "list[Part]":
    """A part for each core, written by a thread: memory lies near the core that first touches it."""
    import numpy as np

    length = max(size // cores // np.dtype(np.uint64).itemsize, 1)
    return list(threads.map(lambda _: np.ones(length, dtype=np.uint64), range(cores)))


def _pass_s(threads: Executor, parts: "Sequence[Part]") -> float:
    """Seconds in which all parts are read once; numpy lets go of the interpreter's lock meanwhile."""
    import numpy as np

    began = time.perf_counter()
    # Of numpy's reductions the one with least to compute.
    list(threads.map(np.bitwise_or.reduce, parts))
    return time.perf_counter() - began


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _available_bytes() -> int:
    import psutil

    return int(psutil.virtual_memory().available)
