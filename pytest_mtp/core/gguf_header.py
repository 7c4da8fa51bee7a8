"""What a GGUF file says about its model before a byte of the model is read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import BinaryIO

from pytest_mtp.core.gguf_stream import GgufStream, Value
from pytest_mtp.core.gguf_types import FILE_TYPES, TENSOR_TYPES, type_name
from pytest_mtp.errors import InputError

_DEFAULT_ALIGNMENT = 32
_MOST_DIMENSIONS = 4
# Twice what llama.cpp can load; what is computed block by block stays small for a damaged number too.
_MOST_BLOCKS = 1024
_MOST_FIELDS = 1 << 16
_MOST_TENSORS = 1 << 17
# The least that a field and a tensor take: an empty name, and the shortest of what follows it.
_LEAST_FIELD_BYTES = 8 + 4 + 1
_LEAST_TENSOR_BYTES = 8 + 4 + 4 + 8
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class HeaderTensor:
    """One tensor as the header announces it."""

    name: str
    shape: tuple[int, ...]
    """The length of a row first, as ggml counts."""
    type: str
    """How it is stored; ``unknown type N`` for a type that is newer than this package."""
    bytes: int | None
    """Its size without padding; ``None`` for an unknown type."""

    @property
    def numbers(self) -> int:
        """How many numbers it holds."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The header of one file, or, after ``merged``, of all files of a split model."""

    fields: Mapping[str, Value]
    """All fields; an array of strings and a long array are only told by type and length."""
    tensors: tuple[HeaderTensor, ...]
    alignment: int
    data_offset: int
    """Where the tensors begin; of a split model, in its first file."""
    size: int
    """Bytes of the file, or of all files."""
    parts: int = 1
    """Files of this model; more than 1 and ``part`` set: this is but one of them."""
    part: int | None = None
    """Which of the files this is, from 0; ``None`` for a whole model."""

    @property
    def architecture(self) -> str | None:
        """What llama.cpp has to know; ``None`` in a later part of a split model, which leaves it to the first."""
        said = self.fields.get("general.architecture")
        return said if isinstance(said, str) else None

    @property
    def block_count(self) -> int:
        """Blocks, those of the MTP layers included; 0 where the header does not say."""
        return self.number("block_count") or 0

    @property
    def nextn_layers(self) -> int:
        """MTP layers that the header announces; 0 also where it does not say."""
        return self.number("nextn_predict_layers") or 0

    @property
    def vocabulary(self) -> int:
        """Tokens: as many as the embedding has rows."""
        embeddings = (tensor.shape for tensor in self.tensors if tensor.name == "token_embd.weight")
        return next((shape[1] for shape in embeddings if len(shape) > 1), 0)

    @property
    def quantization(self) -> str:
        """The label of the mix of types, such as ``Q4_K_M``; where none is told, the type that most numbers have."""
        told = self._integer("general.file_type")
        label = None if told is None else FILE_TYPES.get(told)
        if label is not None:
            return label
        numbers: dict[str, int] = {}
        for tensor in self.tensors:
            numbers[tensor.type] = numbers.get(tensor.type, 0) + tensor.numbers
        return max(numbers, key=numbers.__getitem__, default="empty")

    @property
    def unknown_types(self) -> tuple[str, ...]:
        """Types of tensors that this package does not know, so that sizes of this model are too small."""
        return tuple(sorted({tensor.type for tensor in self.tensors if tensor.bytes is None}))

    def number(self, key: str) -> int | None:
        """One whole number of this architecture, such as ``block_count``; of an array the largest."""
        return self._integer(f"{self.architecture}.{key}")

    def per_block(self, key: str, absent: int = 0) -> tuple[int, ...]:
        """A number of this architecture for every block, whether told once or block by block."""
        said = self.fields.get(f"{self.architecture}.{key}")
        if isinstance(said, tuple) and len(said) >= self.block_count:
            return tuple(value if isinstance(value, int) and value > 0 else 0 for value in said[: self.block_count])
        told = self.number(key)
        return (absent if told is None else told,) * self.block_count

    def _integer(self, key: str) -> int | None:
        said = self.fields.get(key)
        if isinstance(said, tuple):
            said = max((value for value in said if isinstance(value, int)), default=None)
        return said if isinstance(said, int) and not isinstance(said, bool) and said >= 0 else None


def read_header(stream: BinaryIO, size: int, name: str = "The file") -> Header:
    """Read the header of a GGUF file of ``size`` bytes; InputError in one sentence for what is not a whole one.

    ``name`` is what the messages call it. Reads no tensor, and takes less than half a GiB of memory.
    """
    source = GgufStream(stream, size, name)
    source.begin()
    tensor_count = source.count("tensors", _LEAST_TENSOR_BYTES, _MOST_TENSORS)
    field_count = source.count("fields", _LEAST_FIELD_BYTES, _MOST_FIELDS)
    fields = _fields(source, field_count)
    placed = tuple(_tensors(source, tensor_count))
    alignment = _alignment(source, fields)
    parts = _small(fields.get("split.count")) or 1
    header = Header(
        fields=fields,
        tensors=tuple(tensor for tensor, _ in placed),
        alignment=alignment,
        data_offset=-(-source.at // alignment) * alignment,
        size=size,
        parts=parts,
        part=_small(fields.get("split.no")) if parts > 1 else None,
    )
    _check(source, header, [offset for _, offset in placed])
    return header


def merged(headers: Sequence[Header], name: str = "The model") -> Header:
    """Join the headers of all files of a split model, given in any order; InputError when one is missing."""
    if len(headers) == 1 and headers[0].parts == 1:
        return headers[0]
    ordered = sorted(headers, key=lambda one: one.part or 0)
    parts = ordered[0].parts if ordered else 0
    if [one.part for one in ordered] != list(range(len(ordered))) or {one.parts for one in ordered} != {len(ordered)}:
        there = ", ".join(str((one.part or 0) + 1) for one in ordered) or "none"
        raise InputError(f"{name} is split into {parts} files, and not all of them are there (only {there}).")
    tensors = tuple(tensor for one in ordered for tensor in one.tensors)
    announced = _small(ordered[0].fields.get("split.tensors.count"))
    if announced is not None and announced != len(tensors):
        raise InputError(f"{name} has {len(tensors)} tensors in its {parts} files, and announces {announced}.")
    if len({tensor.name for tensor in tensors}) < len(tensors):
        raise InputError(f"{name} is damaged: two of its {parts} files have a tensor of the same name.")
    return replace(ordered[0], tensors=tensors, size=sum(one.size for one in ordered), part=None)


def _fields(source: GgufStream, count: int) -> dict[str, Value]:
    fields: dict[str, Value] = {}
    for _ in range(count):
        key = source.field_name()
        if key in fields:
            raise InputError(f"{source.name} is damaged: the field {_shown(key)} is in its header twice.")
        fields[key] = source.value()
    return fields


def _tensors(source: GgufStream, count: int) -> Iterator[tuple[HeaderTensor, int]]:
    """Read each tensor with its offset from the first of them."""
    seen: set[str] = set()
    for _ in range(count):
        name = source.field_name()
        if name in seen:
            raise InputError(f"{source.name} is damaged: the tensor {_shown(name)} is in its header twice.")
        seen.add(name)
        dimensions = source.integer(4)
        if dimensions > _MOST_DIMENSIONS:
            raise InputError(f"{source.name} is damaged: its tensor {_shown(name)} has {dimensions} dimensions.")
        shape = tuple(source.integer(8) for _ in range(dimensions))
        kind = source.integer(4)
        offset = source.integer(8)
        yield HeaderTensor(name, shape, type_name(kind), _bytes(source, name, shape, kind)), offset


def _bytes(source: GgufStream, name: str, shape: tuple[int, ...], kind: int) -> int | None:
    stored = TENSOR_TYPES.get(kind)
    if stored is None:
        return None
    row = shape[0] if shape else 1
    if row % stored.block:
        raise InputError(
            f"{source.name} is damaged: a row of its tensor {_shown(name)} has {row} numbers, "
            f"and {stored.name} is stored in blocks of {stored.block}."
        )
    return prod(shape) // stored.block * stored.block_bytes


def _alignment(source: GgufStream, fields: Mapping[str, Value]) -> int:
    said = fields.get("general.alignment", _DEFAULT_ALIGNMENT)
    if not isinstance(said, int) or isinstance(said, bool) or said < 1 or said & (said - 1):
        raise InputError(f"{source.name} is damaged: its alignment is {_shown(said)}, which is no power of two.")
    return said


def _check(source: GgufStream, header: Header, offsets: Sequence[int]) -> None:
    """Raise InputError where the header contradicts itself or the length of the file."""
    if header.architecture is None and header.part in {None, 0}:
        raise InputError(f"{source.name} does not say the architecture of its model; it is no language model's file.")
    if header.parts > 1 and (header.part is None or header.part >= header.parts):
        part = "of no number" if header.part is None else header.part + 1
        raise InputError(f"{source.name} is damaged: it says that it is part {part} of {header.parts}.")
    if header.block_count > _MOST_BLOCKS or header.nextn_layers > header.block_count:
        layers = f"{header.block_count} blocks with {header.nextn_layers} MTP layers among them"
        raise InputError(f"{source.name} is damaged: it announces {layers}.")
    ends = [offset + (tensor.bytes or 0) for tensor, offset in zip(header.tensors, offsets, strict=True)]
    needed = header.data_offset + max(ends, default=0)
    if ends and needed > header.size:
        raise InputError(
            f"{source.name} is truncated: it has {header.size} bytes, and its tensors need {needed}. Download it again."
        )


def _shown(said: object) -> str:
    """As Python writes it, and of a long one the beginning."""
    return f"{said!r:.{_SHOWN}}"


def _small(said: Value | None) -> int | None:
    """A whole number that the format keeps in 16 or 32 bits."""
    return said if isinstance(said, int) and not isinstance(said, bool) and 0 <= said < 1 << 31 else None
