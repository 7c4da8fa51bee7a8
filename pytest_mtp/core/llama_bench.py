"""What verifying a draft costs without a server around it: llama-bench's batches of a few tokens against single ones.

Its random tokens cost a mixture of experts more than real drafts, which resemble each other; of a
batch it computes the output of the last token alone, where a server needs that of every token; and
it samples nothing, and never goes back to an older state. So this is the price of the trunk.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from pytest_mtp.core.capabilities import Capabilities
from pytest_mtp.core.server_spec import ServerSpec
from pytest_mtp.core.speedup import Estimate
from pytest_mtp.errors import FlagError, InputError

KNOWN_BY = "--n-prompt"
"""The option by which its help is told from another program's."""

# What a profile may have among its extra flags that llama-bench takes too, and with the same meaning.
_SHARED = (
    ("-ncmoe", "--n-cpu-moe"),
    ("-sm", "--split-mode"),
    ("-mg", "--main-gpu"),
    ("-ts", "--tensor-split"),
)
_LASTING_S, _MOST = 3.0, 100
_MOST_COUNTED = 10**15
_FLAG = re.compile(r"--?[A-Za-z]")
_FLASH_ATTENTION: Mapping[str, str] = MappingProxyType({"on": "1", "off": "0", "auto": "1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchTest:
    """One test of llama-bench: so many tokens, a batch or one at a time, and how long each repetition took."""

    n_prompt: int
    """Tokens processed in batches; 0 where they were generated one by one."""
    n_gen: int
    n_batch: int
    n_threads: int
    samples_ns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BenchShape:
    """How it is measured: batches of ``batch`` tokens until ``tokens`` are done, as many single ones, repeated."""

    batch: int
    batches: int = 16
    repetitions: int = 5

    @classmethod
    def lasting(cls, batch: int, tps: float) -> "BenchShape":
        """As many repetitions as the plain arm's ``tps`` makes in some seconds: short ones are easily disturbed."""
        least = cls(batch=batch)
        return replace(least, repetitions=min(max(least.repetitions, round(_LASTING_S * tps / least.tokens)), _MOST))

    @property
    def tokens(self) -> int:
        """Tokens of each test: equal, so that both reach the same context."""
        return self.batch * self.batches


def bench_arguments(spec: ServerSpec, shape: BenchShape, capabilities: Capabilities) -> tuple[str, ...]:
    """The arguments that measure what ``spec`` would serve; FlagError where this llama-bench lacks one."""
    told: list[tuple[Sequence[str], object | None]] = [
        (("-m", "--model"), spec.model),
        (("-p", KNOWN_BY), shape.tokens),
        (("-n", "--n-gen"), shape.tokens),
        (("-b", "--batch-size"), shape.batch),
        (("-r", "--repetitions"), shape.repetitions),
        (("-ngl", "--n-gpu-layers"), spec.gpu_layers),
        (("-t", "--threads"), spec.threads),
        (("-fa", "--flash-attn"), _flash_attention(spec.flash_attn, capabilities)),
        (("-ctk", "--cache-type-k"), spec.cache_type_k),
        (("-ctv", "--cache-type-v"), spec.cache_type_v),
        *_shared(spec.extra),
        (("-o", "--output"), "json"),
    ]
    words = ((_live(names, capabilities), str(value)) for names, value in told if value is not None)
    return tuple(word for pair in words for word in pair)


def left_out(spec: ServerSpec) -> tuple[str, ...]:
    """The profile's own flags that llama-bench is not given, so that it may compute otherwise than the server."""
    known = {name for names in _SHARED for name in names}
    return tuple(word for word in spec.extra if _FLAG.match(word) and word not in known)


def parse_bench(text: str) -> tuple[BenchTest, ...]:
    """Read what ``-o json`` printed; InputError where it is something else."""
    try:
        return tuple(map(_test, json.loads(text)))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise InputError(
            f"This is not what llama-bench -o json prints ({type(error).__name__}: {error!s:.200}): {text[:200]!r}."
        ) from error


def batch_cost(tests: Iterable[BenchTest], batch: int) -> Estimate:
    """Time of a batch of ``batch`` tokens over the time of one token, a value for each repetition."""
    found = tuple(tests)
    batches = next((one for one in found if one.n_prompt and not one.n_gen and one.n_batch == batch), None)
    single = next((one for one in found if one.n_gen and not one.n_prompt), None)
    if batches is None or single is None or not (batches.samples_ns and single.samples_ns):
        raise InputError(f"llama-bench was to measure batches of {batch} tokens and single ones; it has not both.")
    pairs = zip(batches.samples_ns, single.samples_ns, strict=False)
    if batch < 1:
        raise InputError(f"llama-bench was to measure batches of {batch} tokens, and there are none.")
    scale = math.log(batch * single.n_gen / batches.n_prompt)
    return Estimate(tuple(scale + math.log(many / one) for many, one in pairs))


def _test(row: Mapping[str, Any]) -> BenchTest:
    return BenchTest(
        n_prompt=_count(row["n_prompt"]),
        n_gen=_count(row["n_gen"]),
        n_batch=_count(row["n_batch"]),
        n_threads=_count(row["n_threads"]),
        samples_ns=tuple(_count(one, least=1) for one in row["samples_ns"]),
    )


def _count(value: Any, least: int = 0) -> int:
    """A whole number that arithmetic can be done with."""
    number = int(value)
    if not least <= number <= _MOST_COUNTED:
        raise ValueError(f"{number!r:.30} is no count or time")
    return number


def _live(names: Sequence[str], capabilities: Capabilities) -> str:
    for name in names:
        if capabilities.offers(name):
            return name
    raise FlagError(
        f"This build's llama-bench has no {names[0]}, which the profile needs. "
        "Use a llama.cpp that has it (--source), or do without the efficiency (--no-bench)."
    )


def _flash_attention(value: str | None, capabilities: Capabilities) -> str | None:
    if value is None or value in capabilities.values("-fa"):
        return value
    return _FLASH_ATTENTION[value]  # builds of b9246's age take a number


def _shared(extra: Sequence[str]) -> list[tuple[Sequence[str], object | None]]:
    found: list[tuple[Sequence[str], object | None]] = []
    for flag, value in pairwise(extra):
        names = next((names for names in _SHARED if flag in names), None)
        if names is not None:
            # A comma makes two tests of it.
            found.append((names, value.replace(",", "/")))
    return found
