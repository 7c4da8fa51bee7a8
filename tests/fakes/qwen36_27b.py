"""The header of Qwen3.6-27B in Q4_K_M with its MTP layer, as published, without a byte of the model.

The shapes are those of the model, the types those that ``llama-quantize`` gives them for Q4_K_M, with the MTP
layer in Q8_0. Their sizes and a header of 10,997,408 bytes are the 16,998,723,232 bytes of the published file.
"""

from collections.abc import Iterator
from math import prod

from pytest_mtp.core.gguf_header import Header, HeaderTensor
from pytest_mtp.core.gguf_stream import Value
from pytest_mtp.core.gguf_types import type_named

FILE_BYTES = 16_998_723_232
WEIGHT_BYTES = 16_987_725_824
_TRUNK, _INTERVAL = 64, 4
_EMBEDDING, _FEED_FORWARD, _VOCABULARY = 5120, 17408, 248320
_HEADS, _KV_HEADS, _HEAD = 24, 4, 256
_STATE, _GROUPS, _RANK, _KERNEL = 128, 16, 48, 4
_INNER = _STATE * _RANK
_MIXED = 2 * _STATE * _GROUPS + _INNER

_FIELDS = {
    "block_count": _TRUNK + 1,
    "nextn_predict_layers": 1,
    "context_length": 262144,
    "embedding_length": _EMBEDDING,
    "feed_forward_length": _FEED_FORWARD,
    "attention.head_count": _HEADS,
    "attention.head_count_kv": _KV_HEADS,
    "attention.key_length": _HEAD,
    "attention.value_length": _HEAD,
    "full_attention_interval": _INTERVAL,
    "ssm.conv_kernel": _KERNEL,
    "ssm.state_size": _STATE,
    "ssm.group_count": _GROUPS,
    "ssm.time_step_rank": _RANK,
    "ssm.inner_size": _INNER,
}


def header() -> Header:
    """The header, as if it had been read from the file."""
    general: dict[str, Value] = {"architecture": "qwen35", "name": "Qwen3.6-27B", "file_type": 15}
    return Header(
        fields={f"general.{key}": value for key, value in general.items()}
        | {f"qwen35.{key}": value for key, value in _FIELDS.items()},
        tensors=tuple(_tensors()),
        alignment=32,
        data_offset=FILE_BYTES - WEIGHT_BYTES,
        size=FILE_BYTES,
    )


def _tensors() -> Iterator[HeaderTensor]:
    yield _tensor("token_embd.weight", (_EMBEDDING, _VOCABULARY), "Q4_K")
    yield _tensor("output.weight", (_EMBEDDING, _VOCABULARY), "Q6_K")
    yield _tensor("output_norm.weight", (_EMBEDDING,), "F32")
    for block in range(_TRUNK):
        shapes = _recurrent() if (block + 1) % _INTERVAL else _attention()
        for name, shape in (shapes | _feed_forward()).items():
            sensitive = name.startswith(("attn_qkv", "attn_v", "ffn_down"))
            yield _tensor(f"blk.{block}.{name}", shape, "Q6_K" if sensitive and _more_bits(block) else "Q4_K")
    for name, shape in (_attention() | _feed_forward() | _head()).items():
        yield _tensor(f"blk.{_TRUNK}.{name}", shape, "Q8_0")


def _more_bits(block: int) -> bool:
    """Where llama-quantize spends more bits: in the first and last eighth, and in every third block between."""
    blocks = _TRUNK + 1
    return block < blocks // 8 or block >= 7 * blocks // 8 or (block - blocks // 8) % 3 == 2


_Shapes = dict[str, tuple[int, ...]]


def _recurrent() -> _Shapes:
    return {
        "attn_qkv.weight": (_EMBEDDING, _MIXED),
        "attn_gate.weight": (_EMBEDDING, _INNER),
        "ssm_conv1d.weight": (_KERNEL, _MIXED),
        "ssm_dt.bias": (_RANK,),
        "ssm_a": (_RANK,),
        "ssm_beta.weight": (_EMBEDDING, _RANK),
        "ssm_alpha.weight": (_EMBEDDING, _RANK),
        "ssm_norm.weight": (_STATE,),
        "ssm_out.weight": (_INNER, _EMBEDDING),
    }


def _attention() -> _Shapes:
    return {
        "attn_q.weight": (_EMBEDDING, 2 * _HEADS * _HEAD),  # the query and its gate
        "attn_k.weight": (_EMBEDDING, _KV_HEADS * _HEAD),
        "attn_v.weight": (_EMBEDDING, _KV_HEADS * _HEAD),
        "attn_output.weight": (_HEADS * _HEAD, _EMBEDDING),
        "attn_q_norm.weight": (_HEAD,),
        "attn_k_norm.weight": (_HEAD,),
    }


def _feed_forward() -> _Shapes:
    return {
        "attn_norm.weight": (_EMBEDDING,),
        "post_attention_norm.weight": (_EMBEDDING,),
        "ffn_gate.weight": (_EMBEDDING, _FEED_FORWARD),
        "ffn_up.weight": (_EMBEDDING, _FEED_FORWARD),
        "ffn_down.weight": (_FEED_FORWARD, _EMBEDDING),
    }


def _head() -> _Shapes:
    return {
        "nextn.eh_proj.weight": (2 * _EMBEDDING, _EMBEDDING),
        "nextn.enorm.weight": (_EMBEDDING,),
        "nextn.hnorm.weight": (_EMBEDDING,),
        "nextn.shared_head_norm.weight": (_EMBEDDING,),
    }


def _tensor(name: str, shape: tuple[int, ...], kind: str) -> HeaderTensor:
    """A tensor; vectors and the small convolution stay F32 whatever the mix is."""
    stored = type_named("F32" if len(shape) == 1 or shape[0] == _KERNEL else kind)
    assert stored is not None
    return HeaderTensor(name, shape, stored.name, prod(shape) // stored.block * stored.block_bytes)
