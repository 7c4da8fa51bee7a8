"""Which block of a model does what: attention, recurrent state or MTP, and on which side of the bus it lies."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_mtp.core.gguf_header import Header

_BLOCK = re.compile(r"blk\.(\d+)\.")
# One block in so many is full attention, where the header does not say (llama.cpp's default too).
_DEFAULT_INTERVAL = 4
_INTERVAL_FAMILY = ("qwen35", "qwen35moe", "qwen3next", "qwen4exp")
# Whose recurrent state llama.cpp can set back by a few tokens; of the others it keeps one.
_ROLLBACK_FAMILY = ("qwen35", "qwen35moe", "qwen4exp", "nemotron_h", "nemotron_h_moe", "lfm2", "lfm2moe", "bailingmoe3")


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerPlan:
    """The blocks of a model by their kind, in numbers of a header."""

    trunk: tuple[int, ...]
    """Blocks of the trunk that keep keys and values."""
    recurrent: tuple[int, ...]
    """Blocks of the trunk that keep a state instead."""
    mtp: tuple[int, ...]
    keys: tuple[int, ...]
    """Numbers that a block caches for one token, as keys."""
    values: tuple[int, ...]
    state: int
    """Numbers in the states of one recurrent block, for one slot."""
    delta_state: int
    """Those of them that are computed at once."""
    rolls_back: bool
    """Whether a state is kept for every drafted token."""
    first_offloaded: int
    """The block from which on all lies on the device; the output is the one after the last."""
    assumed: tuple[str, ...] = ()

    def offloaded(self, block: int) -> bool:
        """Whether a block is on the device."""
        return block >= self.first_offloaded

    def cached(self, block: int) -> tuple[int, int]:
        """Numbers of a token's key and of its value in the cache of a block."""
        return self.keys[block], self.values[block]

    @staticmethod
    def block_of(tensor: str) -> int | None:
        """The block that a tensor belongs to; ``None`` for the embedding and the output."""
        found = _BLOCK.match(tensor)
        return int(found[1]) if found else None


def plan(header: Header, gpu_layers: int) -> LayerPlan:
    """The plan of a model of which the last ``gpu_layers`` layers, the output among them, are offloaded."""
    blocks = header.block_count
    trunk = blocks - min(header.nextn_layers, blocks)
    recurrent = _recurrent(header, trunk)
    heads = header.per_block("attention.head_count")
    kv_heads = header.per_block("attention.head_count_kv", absent=max(heads, default=0))
    key, value = _head_widths(header, max(heads, default=1))
    return LayerPlan(
        trunk=tuple(block for block in range(trunk) if block not in recurrent and kv_heads[block]),
        recurrent=recurrent,
        mtp=tuple(range(trunk, blocks)),
        keys=tuple(count * key for count in kv_heads),
        values=tuple(count * value for count in kv_heads),
        state=_conv_state(header) + _delta_state(header),
        delta_state=_delta_state(header),
        rolls_back=header.architecture in _ROLLBACK_FAMILY,
        # Counted from the end, the output first.
        first_offloaded=max(blocks + 1 - gpu_layers, 0),
        assumed=tuple(_assumed(header, recurrent)),
    )


def _recurrent(header: Header, trunk: int) -> tuple[int, ...]:
    if not header.number("ssm.inner_size"):
        return ()
    told = header.fields.get(f"{header.architecture}.attention.recurrent_layers")
    if isinstance(told, tuple):
        return tuple(block for block, state in enumerate(told[:trunk]) if state)
    if header.architecture not in _INTERVAL_FAMILY:
        heads = header.per_block("attention.head_count_kv")
        return tuple(block for block in range(trunk) if not heads[block])
    interval = header.number("full_attention_interval") or _DEFAULT_INTERVAL
    return tuple(block for block in range(trunk) if (block + 1) % interval)


def _head_widths(header: Header, heads: int) -> tuple[int, int]:
    """Width of a cached key and value."""
    plain = (header.number("embedding_length") or 0) // max(heads, 1)
    key = header.number("attention.key_length") or plain
    if header.number("attention.key_length_mla"):
        return key, 0  # multi-head latent attention caches one compressed row, from which the values are made
    return key, header.number("attention.value_length") or plain


def _conv_state(header: Header) -> int:
    kept = max((header.number("ssm.conv_kernel") or 0) - 1, 0)
    groups = (header.number("ssm.group_count") or 0) * (header.number("ssm.state_size") or 0)
    return kept * ((header.number("ssm.inner_size") or 0) + 2 * groups)


def _delta_state(header: Header) -> int:
    return (header.number("ssm.state_size") or 0) * (header.number("ssm.inner_size") or 0)


def _assumed(header: Header, recurrent: tuple[int, ...]) -> Iterator[str]:
    if recurrent and header.architecture not in _INTERVAL_FAMILY:
        yield f"the recurrent blocks of {header.architecture} are guessed from their heads"
    if header.number("attention.sliding_window"):
        yield "layers with a sliding window are counted as full ones"
    if header.number("attention.indexer.key_length"):
        yield "the cache of the attention's indexer is not counted"
    if header.number("expert_count"):
        yield "the compute buffer of a mixture of experts is a guess"
