"""What a profile demands of the further suites: one table each, with defaults that hold on most machines."""

import math
from dataclasses import dataclass, field, fields, is_dataclass

from pytest_mtp.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptProcessingTable:
    """Prompt tokens per second with MTP over without."""

    floor: float = 0.5
    """Published cards lose up to half of it to the head's own pass over the prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyTable:
    """What a person waits for, with MTP over without; published nowhere, so generous."""

    prompt_tokens: int = 512
    """Of the prompt before the first token; 0 asks as the classes do, whose few tokens are read in no time."""
    first_token: float = 2.0
    """Most of the time to the first token."""
    token: float = 1.5
    """Most of the mean time per token after it."""
    gap: float = 6.0
    """Most of the 95th percentile of the gaps between tokens: a step with drafts is longer than a plain one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftDepthTable:
    """The sweep over n-max and p-min."""

    n_max: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 8)
    p_min: tuple[float, ...] = (0.0, 0.75)
    """Each with the profile's own n-max; the profile's own p-min goes with every n-max."""
    cliff: float = 0.6
    """A setting with less of its better neighbour's speed than this share is a cliff."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextTable:
    """The speedup after long prompts."""

    depths: tuple[int, ...] = (512, 2040, 2056, 4088, 4104)
    """Prompt tokens; bugs were seen just below and above multiples of 2048. The servers' context grows with them."""
    floor: float = 0.7
    """Least speedup over that of the first depth."""
    drafts: float = 0.75
    """Least tokens per step over those of the first depth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelTable:
    """Several users at once."""

    floor: float = 0.4
    """Least throughput with MTP over without: several users fill the batches that drafts would fill."""
    drafts: float = 0.9
    """Least tokens per step of each prompt at once over those of the same prompt alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTable:
    """Memory of the servers of the gate's own campaign."""

    head: float = 1.6
    """Most memory with MTP over without."""
    growth: float = 1.10
    """Most memory at the end of a server's requests over that at their start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakTable:
    """One server for long."""

    for_s: float = 120.0
    """How long each server is asked; an hour shows what minutes cannot (``--mtp-set suites.soak.for_s=3600``)."""
    floor: float = 0.85
    """Least speedup in the last quarter over that in the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """Greedy texts of both arms."""

    gate: bool = False
    """Whether another text is red; wider batches round otherwise, which is known and open upstream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KvCacheTable:
    """Types of the KV cache, each with and without MTP."""

    types: tuple[str, ...] = ()
    """Names as the build spells them; empty takes f16, q8_0, q4_0 and a fork's turbo types, where offered."""
    floor: float = 0.7
    """Least tok/s of the mtp arm over those of the first type."""
    drafts: float = 0.8
    """Least tokens per step over those of the first type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherSpeculationTable:
    """Other kinds of speculation than the flag set's own, and chains of kinds."""

    kinds: tuple[str, ...] = ()
    """Such as ``ngram-mod``, or the chain ``ngram-mod+mtp``; empty takes the n-gram kinds that the build offers."""
    draft_model: str | None = None
    """The GGUF file of a small model; with it ``draft-simple`` is asked too."""
    tokens: int = 256
    """Of an answer: an n-gram is found only in what repeats."""
    floor: float = 0.5
    """Least tok/s of a kind over those without speculation."""

    def __post_init__(self) -> None:
        if self.tokens < 2:  # noqa: PLR2004 - two tokens make a rate
            raise SettingsError(f"suites.other_speculation.tokens is {self.tokens}; it must be at least 2.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteTable:
    """Which classes the further suites ask, how often, and what each of them demands."""

    classes: tuple[str, ...] = ()
    """Names of prompt classes; empty takes the first one."""
    pairs: int = 4
    """Requests per class, arm and block."""
    looks: tuple[int, ...] = (3, 6)
    """Valid blocks after which a study is judged."""
    prompt_processing: PromptProcessingTable = field(default_factory=PromptProcessingTable)
    latency: LatencyTable = field(default_factory=LatencyTable)
    draft_depth: DraftDepthTable = field(default_factory=DraftDepthTable)
    context: ContextTable = field(default_factory=ContextTable)
    parallel: ParallelTable = field(default_factory=ParallelTable)
    memory: MemoryTable = field(default_factory=MemoryTable)
    soak: SoakTable = field(default_factory=SoakTable)
    text: TextTable = field(default_factory=TextTable)
    kv_cache: KvCacheTable = field(default_factory=KvCacheTable)
    other_speculation: OtherSpeculationTable = field(default_factory=OtherSpeculationTable)

    def __post_init__(self) -> None:
        if self.pairs < 1:
            raise SettingsError(f"suites.pairs is {self.pairs}; it must be at least 1.")
        fewest = 2  # one block alone has no spread
        if not self.looks or list(self.looks) != sorted(set(self.looks)) or self.looks[0] < fewest:
            raise SettingsError("suites.looks are growing numbers of blocks, the first at least 2, such as [3, 6].")
        for one in fields(self):
            if is_dataclass(table := getattr(self, one.name)):
                _check_ratios(one.name, table)
        if any(one < 1 for one in (*self.context.depths, *self.draft_depth.n_max)):
            raise SettingsError("suites.context.depths and suites.draft_depth.n_max are numbers of 1 or more.")
        if len(set(self.context.depths)) < max(2, len(self.context.depths)):
            raise SettingsError("suites.context.depths are at least two, each another: the first is compared with.")
        if not all(0 <= one <= 1 for one in self.draft_depth.p_min):
            raise SettingsError("suites.draft_depth.p_min are probabilities between 0 and 1.")
        if self.latency.prompt_tokens < 0:
            raise SettingsError("suites.latency.prompt_tokens is a number of tokens, 0 or more.")


def _check_ratios(suite: str, table: object) -> None:
    for one in fields(table):  # type: ignore[arg-type]  # every table is a dataclass
        value = getattr(table, one.name)
        if isinstance(value, float) and not 0 < value < math.inf:
            raise SettingsError(f"suites.{suite}.{one.name} is {value}; it must be above 0.")
