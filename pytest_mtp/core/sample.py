"""What was measured, from one answer up to a whole campaign; raw values and circumstances only.

Sample (one answer) < Start (one life of a server) < Block (adjacent starts, one per arm) < Campaign.
The block is the unit of every test: answers of one start share clocks, memory layout and heat.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.telemetry import Telemetry
from pytest_mtp.core.timings import Timings

TIME_LIMIT = "--mtp-max-time"
"""What a campaign that lacked time names as the reason of its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One measured answer."""

    prompt_class: str
    pair: int
    """The n-th measured request of its class in this start; the other arm's n-th was asked next to it."""
    timings: Timings
    wall_ms: float
    """As the client saw it, the prompt and the connection included."""
    text_sha256: str
    accepted_per_position: tuple[int, ...] | None = None
    """Accepted drafts by place in the draft; ``None`` where the build does not count them."""
    asked_ms: float | None = None
    """When it was asked, since the first measured request of its start."""
    text: str | None = None
    """The answer; kept of the first request of each class and start, and of all that were asked at once."""
    arrivals_ms: tuple[float, ...] | None = None
    """When each token had come, since it was asked; ``None`` where the answer was not streamed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One life of one server process: warm-up, then every class in the same order."""

    arm: Arm
    command: str
    load_s: float
    samples: tuple[Sample, ...]
    place: int = 0
    """Its turn among all starts of the block, from 0."""
    offloaded: tuple[int, int] | None = None
    """Layers on the GPU and layers in all, where the log says so."""
    device_bytes: int | None = None
    """Memory that its log says it took on the cards."""
    debug_build: bool = False
    """Whether its log says that llama.cpp was compiled without optimization."""
    telemetry: Telemetry | None = None
    """The cards while its requests ran; ``None`` where nobody looked."""
    log_tail: str = ""

    def of(self, prompt_class: str) -> tuple[Sample, ...]:
        """The samples of one class, in the order of their pairs."""
        return tuple(sorted((s for s in self.samples if s.prompt_class == prompt_class), key=lambda s: s.pair))


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Adjacent starts, one per arm; a control has no plain one. ``invalid`` is why it does not count, else ``None``."""

    index: int
    order: tuple[Arm, ...]
    """In which its arms were started."""
    starts: tuple[Start, ...]
    measuring_s: float
    """Wall time of the measured requests of the block, starts and warm-up excluded."""
    memory_bandwidth: float | None = None
    """Bytes per second that the machine's memory gave before the starts; ``None`` where cards hold the weights."""
    invalid: str | None = None

    def start(self, arm: Arm) -> Start:
        """The start of one arm; a valid block has both."""
        return next(start for start in self.starts if start.arm is arm)


class Stage(Enum):
    """How far a failed arm came."""

    START = "start"
    WARM_UP = "warm-up"
    MEASURE = "measure"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmFailure:
    """An arm that could not be measured at all: a finding, not an error of the harness."""

    arm: Arm
    stage: Stage
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What a campaign was measured with; the part of ``key`` decides which baseline it meets."""

    build: str
    build_label: str
    model: str
    """Identity: the content for a file, the parameters without an injected fault for a phantom."""
    model_label: str
    fingerprint: str
    isolation: str
    flags: dict[str, str]
    """The server flags and speculation asked for, by their canonical names."""
    request: dict[str, str]
    prompts: dict[str, str]
    """A digest of each class's prompt: a class whose prompt changed has no baseline."""
    environment: dict[str, str] = field(default_factory=dict)
    """``GGML_*`` and ``CUDA_*`` variables that the servers saw."""
    bytes_per_token: int | None = None
    """Weights that the plain arm reads for each token."""
    card_memory_bytes: int | None = None
    """Of the cards in use; ``None`` without one, and where it is not told."""
    memory_bandwidth: float | None = None
    """Bytes per second that the memory of the cards is made for."""

    @property
    def sampled(self) -> bool:
        """Whether answers are drawn by chance, so that neither texts nor counts repeat."""
        return "sampled" in self.flags

    @property
    def greedy(self) -> bool:
        """Whether a text is what the model says: neither drawn by chance nor made of drafts that are taken unseen."""
        return not self.sampled and "synth_rates" not in self.flags


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """The blocks measured for one flag set, with all that is needed to judge them again."""

    flag_set: str
    classes: tuple[str, ...]
    circumstances: Circumstances
    started_at: str
    """RFC 3339, UTC."""
    blocks: tuple[Block, ...] = ()
    failures: tuple[ArmFailure, ...] = ()
    stopped: str | None = None
    """Why measuring ended before the judge was content (time limit, too many invalid blocks), else ``None``."""
    resumed: int = 0
    """How many of its blocks an earlier run measured, which was interrupted."""

    @property
    def out_of_time(self) -> bool:
        """Whether the run's time limit ended it."""
        return TIME_LIMIT in (self.stopped or "")

    def between_looks(self, looks: Sequence[int]) -> bool:
        """Whether it was stopped where no look had been planned: to judge it there would be one look more."""
        return self.stopped is not None and len(self.valid) not in looks

    @property
    def valid(self) -> tuple[Block, ...]:
        """The blocks that count."""
        return tuple(block for block in self.blocks if block.invalid is None)

    @property
    def invalid(self) -> tuple[Block, ...]:
        """The blocks that do not, each with its reason."""
        return tuple(block for block in self.blocks if block.invalid is not None)

    def samples(self, arm: Arm, prompt_class: str) -> tuple[Sample, ...]:
        """All valid samples of one arm and class, block after block."""
        return tuple(sample for block in self.valid for sample in block.start(arm).of(prompt_class))
