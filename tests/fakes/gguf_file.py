"""GGUF files made by hand, byte by byte: small sound ones, and such as no writer would make."""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = bool | int | float | str | Sequence[int] | Sequence[str]
Tensor: TypeAlias = tuple[str, tuple[int, ...], int]
"""Name, shape with the row length first, number of its type."""

F32, Q8_0 = 0, 8
_ALIGNMENT = 32
_HEAD = ("eh_proj.weight", "enorm.weight", "hnorm.weight")


@dataclass(frozen=True)
class Typed:
    """A value whose type and bytes are given."""

    kind: int
    data: bytes


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def typed(value: Value | Typed) -> bytes:
    """A value behind its type: whole numbers as u32, arrays of them as i32."""
    match value:
        case Typed():
            kind, data = value.kind, value.data
        case bool():
            kind, data = 7, struct.pack("<?", value)
        case int():
            kind, data = 4, struct.pack("<I", value)
        case float():
            kind, data = 6, struct.pack("<f", value)
        case str():
            kind, data = 8, text(value)
        case _:
            kind, data = 9, _array(value)
    return struct.pack("<I", kind) + data


def _array(values: Sequence[int] | Sequence[str]) -> bytes:
    kind = 8 if any(isinstance(one, str) for one in values) else 5
    items = (text(one) if isinstance(one, str) else struct.pack("<i", one) for one in values)
    return struct.pack("<IQ", kind, len(values)) + b"".join(items)


def gguf(
    fields: Mapping[str, Value | Typed] | Iterable[tuple[str, Value | Typed]],
    tensors: Sequence[Tensor] = (),
    *,
    version: int = 3,
    offsets: Sequence[int] | None = None,
) -> bytes:
    """A whole file whose tensors are F32 or Q8_0 of zeros, one behind the other unless ``offsets`` says otherwise."""
    pairs = list(fields.items()) if isinstance(fields, Mapping) else list(fields)
    places, end = [], 0
    for _, shape, kind in tensors:
        places.append(end)
        end += -(-_size(shape, kind) // _ALIGNMENT) * _ALIGNMENT
    parts = [b"GGUF", struct.pack("<IQQ", version, len(tensors), len(pairs))]
    parts += [text(key) + typed(value) for key, value in pairs]
    for (name, shape, kind), offset in zip(tensors, offsets or places, strict=True):
        parts.append(text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape))
        parts.append(struct.pack("<IQ", kind, offset))
    header = b"".join(parts)
    return header + bytes(-len(header) % _ALIGNMENT) + bytes(end)


def _size(shape: tuple[int, ...], kind: int) -> int:
    numbers = 1
    for length in shape:
        numbers *= length
    return 4 * numbers if kind == F32 else numbers // 32 * 34


def fields(**more: Value) -> dict[str, Value | Typed]:
    """What a qwen35 of one trunk block and an MTP layer says; keys of ``more`` are of its architecture."""
    about: dict[str, Value] = {"block_count": 2, "nextn_predict_layers": 1, "embedding_length": 32}
    about |= {"feed_forward_length": 64, "attention.head_count": 2, "attention.head_count_kv": 1}
    said: dict[str, Value | Typed] = {f"qwen35.{key}": value for key, value in (about | more).items()}
    return {"general.architecture": "qwen35"} | said


def tensors(*, head: bool = True) -> list[Tensor]:
    """An embedding, a matrix of the trunk, and the MTP layer's own."""
    trunk: list[Tensor] = [("token_embd.weight", (32, 5), F32), ("blk.0.ffn_up.weight", (32, 64), Q8_0)]
    return trunk + [(f"blk.1.nextn.{part}", (32,), F32) for part in _HEAD] * head


def small_model(note: str = "") -> bytes:
    """A whole model of a few KB; another ``note`` is another file."""
    return gguf(fields() | {"general.name": note}, tensors())


def split_model(parts: int = 2) -> list[bytes]:
    """The same, in so many files: the fields in the first, a share of the tensors in each."""
    shares = [tensors()[part::parts] for part in range(parts)]
    said = [
        {"split.no": Typed(2, struct.pack("<H", part)), "split.count": Typed(2, struct.pack("<H", parts))}
        | {"split.tensors.count": len(tensors())}
        for part in range(parts)
    ]
    return [gguf((fields() if part == 0 else {}) | said[part], shares[part]) for part in range(parts)]
