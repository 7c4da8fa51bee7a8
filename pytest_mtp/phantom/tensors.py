"""The tensors of a qwen35 model with one MTP block, and what fills each of them.

The weights that write to the residual stream are zero. What reaches the
output is therefore the embedding of the newest token, while every weight
is still read.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pytest_mtp.phantom.fills import EMBEDDING, Fills
from pytest_mtp.phantom.spec import ATTENTION_INTERVAL, HEAD_DIM, PhantomSpec
from pytest_mtp.phantom.vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy as np
    from gguf import GGMLQuantizationType
    from numpy.typing import NDArray

    from pytest_mtp.phantom.fills import Floats

    _Named: TypeAlias = tuple[str, tuple[int, ...], Callable[[str, tuple[int, ...]], Floats]]

CONV_KERNEL = 4


def heads(spec: PhantomSpec) -> int:
    """Attention heads, and value heads of the recurrent blocks."""
    return spec.n_embd // HEAD_DIM


def heads_kv(spec: PhantomSpec) -> int:
    """Key and value heads of the attention blocks: a quarter of the heads, as in the real models, or one."""
    return heads(spec) // 4 if heads(spec) % 4 == 0 else 1


def groups(spec: PhantomSpec) -> int:
    """Key heads of the recurrent blocks: half of the heads where that is even, else all."""
    return heads(spec) // 2 if heads(spec) % 2 == 0 else heads(spec)


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor: its shape with the row length last, and the making of its values, which is done late."""

    name: str
    shape: tuple[int, ...]
    fill: Callable[[str, tuple[int, ...]], "Floats"]
    weights: str

    def stored_as(self) -> "GGMLQuantizationType":
        """Big matrices as the phantom's weights; vectors and rows too short for a block as F32."""
        from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

        block, _ = GGML_QUANT_SIZES[GGMLQuantizationType.Q8_0]
        big = len(self.shape) > 1 and self.shape[-1] % block == 0
        return GGMLQuantizationType[self.weights.upper()] if big else GGMLQuantizationType.F32

    def stored_bytes(self) -> int:
        """Its size in the file, without padding."""
        from gguf import quant_shape_to_byte_shape
        from numpy import prod

        return int(prod(quant_shape_to_byte_shape(self.shape, self.stored_as())))

    def data(self) -> "NDArray[np.generic]":
        """Its values, made and quantised now."""
        from gguf.quants import quantize

        return quantize(self.fill(self.name, self.shape), self.stored_as())


def tensors(spec: PhantomSpec) -> list[Tensor]:
    """List every tensor in the order of the file."""
    vocabulary = Vocabulary(spec)
    table = (len(vocabulary.texts()), spec.n_embd)
    head = f"blk.{spec.layers}.nextn."
    wide = (spec.n_embd, 2 * spec.n_embd)
    fills = Fills(spec.seed)
    named = [
        (EMBEDDING, table, fills.signs),
        ("output_norm.weight", (spec.n_embd,), fills.ones),
        ("output.weight", table, lambda _, shape: fills.lookup(vocabulary.followers(), shape)),
        *(entry for block in range(spec.layers + 1) for entry in _block(spec, block, fills)),
        (f"{head}eh_proj.weight", wide, fills.first_half),
        (f"{head}enorm.weight", (spec.n_embd,), fills.ones),
        (f"{head}hnorm.weight", (spec.n_embd,), fills.ones),
        (f"{head}shared_head_norm.weight", (spec.n_embd,), fills.ones),
        (f"{head}shared_head_head.weight", table, lambda _, shape: fills.lookup(vocabulary.guesses(), shape)),
    ]
    return [Tensor(name, shape, fill, spec.weights) for name, shape, fill in named]


def _block(spec: PhantomSpec, index: int, fills: Fills) -> "Iterator[_Named]":
    """List the tensors of one block; the MTP block, which comes after the trunk, is full attention too."""
    recurrent = index < spec.layers and (index + 1) % ATTENTION_INTERVAL
    mixer = _recurrent(spec, fills) if recurrent else _attention(spec, fills)
    for name, shape, fill in (*mixer, *_feed_forward(spec, fills)):
        yield f"blk.{index}.{name}", shape, fill


def _recurrent(spec: PhantomSpec, fills: Fills) -> "tuple[_Named, ...]":
    value = heads(spec) * HEAD_DIM
    mixed = 2 * groups(spec) * HEAD_DIM + value
    return (
        ("attn_norm.weight", (spec.n_embd,), fills.ones),
        # The loader calls these two optional; without them the server dies of a segmentation fault.
        ("attn_qkv.weight", (mixed, spec.n_embd), fills.noise),
        ("attn_gate.weight", (value, spec.n_embd), fills.noise),
        ("ssm_conv1d.weight", (mixed, CONV_KERNEL), fills.noise),
        ("ssm_dt.bias", (heads(spec),), fills.noise),
        ("ssm_a", (heads(spec),), fills.minus_ones),  # negative, so that the state decays
        ("ssm_beta.weight", (heads(spec), spec.n_embd), fills.noise),
        ("ssm_alpha.weight", (heads(spec), spec.n_embd), fills.noise),
        ("ssm_norm.weight", (HEAD_DIM,), fills.ones),
        ("ssm_out.weight", (spec.n_embd, value), fills.zeros),
    )


def _attention(spec: PhantomSpec, fills: Fills) -> "tuple[_Named, ...]":
    query, shared = heads(spec) * HEAD_DIM, heads_kv(spec) * HEAD_DIM
    return (
        ("attn_norm.weight", (spec.n_embd,), fills.ones),
        ("attn_q.weight", (2 * query, spec.n_embd), fills.noise),  # the query and its gate
        ("attn_k.weight", (shared, spec.n_embd), fills.noise),
        ("attn_v.weight", (shared, spec.n_embd), fills.noise),
        ("attn_output.weight", (spec.n_embd, query), fills.zeros),
        ("attn_q_norm.weight", (HEAD_DIM,), fills.ones),
        ("attn_k_norm.weight", (HEAD_DIM,), fills.ones),
    )


def _feed_forward(spec: PhantomSpec, fills: Fills) -> "tuple[_Named, ...]":
    return (
        ("post_attention_norm.weight", (spec.n_embd,), fills.ones),
        ("ffn_gate.weight", (spec.n_ff, spec.n_embd), fills.noise),
        ("ffn_up.weight", (spec.n_ff, spec.n_embd), fills.noise),
        ("ffn_down.weight", (spec.n_embd, spec.n_ff), fills.zeros),
    )
