"""How much memory a server will need, and on which side of the bus, from its model's header and its flags.

Weights, caches and recurrent states follow from the header exactly. Compute
buffers are modelled by the widest moment of a block (``layer_width``).
Against what CPU servers of b11434 log, with flash attention on, for the
shapes of Qwen3.5 0.8B, 4B and 9B and of Qwen3.6-27B and for phantoms, every
part but the compute buffers is exact, and those are within 3 %; unlike shapes
(few wide or very many heads) can be off by a third of the buffer; other
builds, several slots, no flash attention by an embedding or two for each
token. Not in here, since nobody logs
it: what a driver takes for itself and the scratch memory of a GPU's kernels
(leave ``DEVICE_MARGIN``), and the copies that a CPU build makes of weights to
store them in another order.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from pytest_mtp.core.gguf_header import Header, HeaderTensor
from pytest_mtp.core.gguf_types import type_named
from pytest_mtp.core.layer_plan import LayerPlan, plan
from pytest_mtp.core.layer_width import Widths
from pytest_mtp.core.server_spec import ServerSpec, Speculation
from pytest_mtp.errors import SettingsError

DEVICE_MARGIN = 1024 * 2**20
"""What llama.cpp itself leaves free on a card when it fits a model to it (``--fit-target``)."""

_CELLS_OF_A_STEP = 256
_DEFAULT_UBATCH = 512
_DEFAULT_BATCH = 2048
_F32, _F16 = 4, 2
_DRAFT_CACHE = {"k": ("-ctkd", "--cache-type-k-draft", "--spec-draft-type-k")} | {
    "v": ("-ctvd", "--cache-type-v-draft", "--spec-draft-type-v")
}


@dataclass(frozen=True, slots=True)
class Place:
    """Bytes on the device (the cards, together) and on the host."""

    device: int = 0
    host: int = 0

    @property
    def total(self) -> int:
        """Both."""
        return self.device + self.host

    def __add__(self, other: "Place") -> "Place":
        return Place(self.device + other.device, self.host + other.host)


@dataclass(frozen=True, slots=True)
class Habits:
    """What builds do differently; as it stands, what those from b10405 on do."""

    head_always_loaded: bool = False
    """Builds before b10405 hold the MTP layer in the plain arm too."""
    logits_per_token: bool = False
    """Builds of b9246's age keep room for the logits of a whole ubatch, half a GiB for a large vocabulary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """The memory of one server, part by part; ``assumed`` says what of it the header could not tell."""

    weights: Place
    kv: Place
    """Keys and values of the trunk's attention layers."""
    recurrent: Place
    """States of the trunk's recurrent layers; the mtp arm keeps one more for each token that it drafts."""
    draft_kv: Place
    """Keys and values of the MTP layers, in a context of their own."""
    compute: Place
    draft_compute: Place
    assumed: tuple[str, ...] = ()

    @property
    def whole(self) -> Place:
        """All parts together."""
        return self.weights + self.kv + self.recurrent + self.draft_kv + self.compute + self.draft_compute

    @property
    def device(self) -> int:
        """Bytes that the cards must have free, without ``DEVICE_MARGIN``."""
        return self.whole.device

    @property
    def host(self) -> int:
        """Bytes of the machine's own memory; weights among them are mapped from the file and can be dropped."""
        return self.whole.host


def footprint(header: Header, spec: ServerSpec, habits: Habits | None = None) -> Footprint:
    """Compute what a server of ``spec`` takes for the model of ``header``; SettingsError for a strange cache type."""
    work = _Work(header, spec, plan(header, spec.gpu_layers), habits or Habits())
    drafting = spec.speculation is not None
    return Footprint(
        weights=work.weights(),
        kv=work.kv(work.layers.trunk, _width(spec.cache_type_k), _width(spec.cache_type_v)),
        recurrent=work.recurrent(),
        draft_kv=work.draft_kv() if drafting else Place(),
        compute=work.compute(),
        draft_compute=work.draft_compute() if drafting else Place(),
        assumed=work.assumed(),
    )


@dataclass(frozen=True, slots=True)
class _Work:
    header: Header
    spec: ServerSpec
    layers: LayerPlan
    habits: Habits

    @property
    def cells(self) -> int:
        """Tokens that the caches hold, over all slots; each slot's share is rounded up."""
        slots = self.spec.parallel
        return slots * _rounded(_rounded(self.spec.ctx) // slots)

    def ubatch(self, most: int) -> int:
        """Tokens computed at once, of ``most`` that a context takes."""
        batch = self.spec.batch if self.spec.batch is not None else _DEFAULT_BATCH
        ubatch = self.spec.ubatch if self.spec.ubatch is not None else _DEFAULT_UBATCH
        return min(ubatch, batch, most)

    def weights(self) -> Place:
        held = Place()
        for tensor in self.header.tensors:
            held += self._held(tensor)
        return held

    def _held(self, tensor: HeaderTensor) -> Place:
        size = tensor.bytes or 0
        block = self.layers.block_of(tensor.name)
        if block is None:
            return self._outside(tensor.name, size)
        if block in self.layers.mtp and self.spec.speculation is None and not self.habits.head_always_loaded:
            return Place()
        return self._placed(block, size)

    def _outside(self, name: str, size: int) -> Place:
        """Place what is in no block: the embedding stays on the host, and where it is the output too, on both."""
        if not name.startswith("token_embd"):
            return self._placed(self.header.block_count, size)
        tied = not any(tensor.name == "output.weight" for tensor in self.header.tensors)
        return Place(size if tied and self.layers.offloaded(self.header.block_count) else 0, size)

    def kv(self, blocks: tuple[int, ...], key_bytes: float, value_bytes: float) -> Place:
        held = Place()
        for block in blocks:
            keys, values = self.layers.cached(block)
            held += self._placed(block, ceil(self.cells * (keys * key_bytes + values * value_bytes)))
        return held

    def draft_kv(self) -> Place:
        assert self.spec.speculation is not None
        types = {side: _draft_type(self.spec.speculation, names) for side, names in _DRAFT_CACHE.items()}
        return self.kv(self.layers.mtp, _width(types["k"]), _width(types["v"]))

    def recurrent(self) -> Place:
        held = Place()
        for block in self.layers.recurrent:
            held += self._placed(block, _F32 * self.layers.state * self._states)
        return held

    @property
    def _drafted(self) -> int:
        """Tokens of a draft, any of which may be wrong."""
        return self.spec.speculation.n_max if self.spec.speculation is not None else 0

    @property
    def _states(self) -> int:
        """States of each recurrent block: the newest, and where it can, one to go back to for each drafted token."""
        return self.spec.parallel * (1 + (self._drafted if self.layers.rolls_back else 0))

    def compute(self) -> Place:
        wide, ubatch = Widths.of(self.header), self.ubatch(self.spec.ctx)
        states = ceil(self.layers.delta_state * self._states / ubatch)
        mixing = wide.mixing(states) if self.layers.recurrent else 0
        numbers = max(wide.trunk(self._scores), mixing)
        return self._buffer(ubatch, numbers, self.spec.parallel * (1 + self._drafted))

    def draft_compute(self) -> Place:
        # The draft's context is given the trunk's size after that was rounded.
        ubatch = self.ubatch(self.cells)
        numbers = Widths.of(self.header).draft(self._mask // _F32, self._scores)
        return self._buffer(ubatch, numbers, self.spec.parallel)

    def _buffer(self, ubatch: int, numbers: int, logits: int) -> Place:
        """A compute buffer: the widest moment of a block, in numbers of a token, or the output; beside the mask."""
        outputs = ubatch if self.habits.logits_per_token else logits
        output = outputs * (self.header.vocabulary + (self.header.number("embedding_length") or 0))
        size = _F32 * max(ubatch * numbers, output) + ubatch * self._mask
        return Place(size, 0) if self.layers.offloaded(self.header.block_count) else Place(0, size)

    @property
    def _flash_attention(self) -> bool:
        return self.spec.flash_attn != "off"

    @property
    def _mask(self) -> int:
        """Bytes of one token's row in the mask of the attention."""
        return self.cells // self.spec.parallel * (_F16 if self._flash_attention else _F32)

    @property
    def _scores(self) -> int:
        """Scores of one token that are kept at once, those of all heads; none with flash attention."""
        heads = max(self.header.per_block("attention.head_count", absent=1), default=1)
        return 0 if self._flash_attention else heads * (self.cells // self.spec.parallel)

    def assumed(self) -> tuple[str, ...]:
        unknown = self.header.unknown_types
        return (
            *self.layers.assumed,
            *([f"tensors of {', '.join(unknown)} are not counted"] if unknown else []),
            *(["flash attention is taken to be on"] if self.spec.flash_attn in {None, "auto"} else []),
        )

    def _placed(self, block: int, size: int) -> Place:
        return Place(size, 0) if self.layers.offloaded(block) else Place(0, size)


def _rounded(cells: int) -> int:
    return ceil(cells / _CELLS_OF_A_STEP) * _CELLS_OF_A_STEP


def _width(cache_type: str | None) -> float:
    """Bytes of one number in a cache of that type."""
    stored = type_named(cache_type or "f16")
    if stored is None:
        raise SettingsError(f"The cache type {cache_type!r} is not one whose size is known; use f16, q8_0 or q4_0.")
    return stored.block_bytes / stored.block


def _draft_type(speculation: Speculation, names: tuple[str, ...]) -> str | None:
    """The type of the draft's cache, which a build leaves at f16 whatever the trunk's is."""
    words = speculation.extra
    return next((value for flag, value in pairwise(words) if flag in names), None)
