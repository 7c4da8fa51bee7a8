"""The values of a GGUF header, one after the other, none of them larger than what is there.

Every length in a header may be wrong, so none is believed before it is held against the bytes that are left. Bytes
may be left without end, too (a sparse file takes no space), so what is kept of a header is bounded: no header takes
more than half a GiB of memory, or more than some seconds.
"""

import struct
from dataclasses import dataclass, field
from typing import BinaryIO, TypeAlias

from pytest_mtp.errors import InputError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
"""Version 1 counted in 32 bits and is refused by llama.cpp too."""

_FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_NAMES = {0: "u8", 1: "i8", 2: "u16", 3: "i16", 4: "u32", 5: "i32", 6: "f32", 7: "bool"} | {
    10: "u64",
    11: "i64",
    12: "f64",
    8: "string",
}
_STRING, _ARRAY = 8, 9
# More than the blocks of any model, less than any vocabulary.
_LONGEST_KEPT = 1024
_LONGEST_NAME = 65535
# Far more than any chat template; a damaged length must not read gigabytes of a model into memory.
_LONGEST_TEXT = 1 << 24
# Names, texts and short arrays of all fields and tensors together. A byte of text may take four in memory.
_MOST_KEPT_BYTES = 1 << 25
_KEPT_OF_A_NUMBER = 8
# Several times the tokens and merges of any vocabulary; they are passed over one by one.
_MOST_STRINGS = 1 << 22

Scalar: TypeAlias = int | float | bool | str


@dataclass(frozen=True, slots=True)
class Array:
    """An array that was passed over: its values are not kept."""

    of: str
    length: int


Value: TypeAlias = Scalar | tuple[int | float | bool, ...] | Array


@dataclass(slots=True)
class GgufStream:
    """A stream of ``size`` bytes that is read from its start; InputError for all that cannot be read."""

    stream: BinaryIO
    size: int
    name: str
    """What the file is called in a message, at the start of a sentence."""
    at: int = field(default=0, init=False)
    _kept_bytes: int = field(default=0, init=False)
    _strings_passed: int = field(default=0, init=False)

    def begin(self) -> None:
        """Read the magic and the version."""
        magic = self.stream.read(len(MAGIC))
        self.at = len(magic)
        if magic != MAGIC:
            raise InputError(
                f"{self.name} is not a GGUF file: it begins with {magic!r} and not with {MAGIC!r}. "
                "Give the .gguf file itself, not a web page, an archive or a pointer to it."
            )
        version = self.integer(4)
        if version and not version & 0xFFFF:
            raise InputError(f"{self.name} is a big-endian GGUF file; convert it for a little-endian machine.")
        if version not in VERSIONS:
            raise InputError(
                f"{self.name} is GGUF version {version}; versions {' and '.join(map(str, VERSIONS))} can be read. "
                "Convert the model again, or update pytest-mtp."
            )

    def count(self, what: str, least_bytes: int, most: int | None = None) -> int:
        """Read how many of something follow, each of at least so many bytes, and at most so many of them."""
        number = self.integer(8)
        self.check(number * least_bytes, f"{number} {what}")
        if most is not None and number > most:
            raise InputError(f"{self.name} is damaged: it announces {number} {what}, and no model has above {most}.")
        return number

    def integer(self, width: int) -> int:
        """Read an unsigned number of ``width`` bytes."""
        return int.from_bytes(self._take(width), "little")

    def field_name(self) -> str:
        """Read the key of a field or the name of a tensor."""
        return self._text(_LONGEST_NAME, "name")

    def value(self) -> Value:
        """Read a value behind its type; of arrays only short ones of numbers are kept."""
        kind = self.integer(4)
        return self._array() if kind == _ARRAY else self._scalar(kind)

    def check(self, needed: int, what: str) -> None:
        """Raise InputError unless that many bytes are left."""
        if needed > self.size - self.at:
            raise InputError(
                f"{self.name} is truncated: it has {self.size} bytes, and its header needs "
                f"at least {self.at + needed} for {what}. Download it again."
            )

    def _text(self, limit: int, what: str) -> str:
        length = self.integer(8)
        self.check(length, f"a {what}")
        if length > limit:
            raise InputError(f"{self.name} is damaged: a {what} of {length} bytes in its header.")
        self._keep(length)
        return self._take(length).decode("utf-8", errors="replace")

    def _scalar(self, kind: int) -> Scalar:
        if kind == _STRING:
            return self._text(_LONGEST_TEXT, "text")
        layout = self._layout(kind)
        value: int | float | bool = layout.unpack(self._take(layout.size))[0]
        return value

    def _array(self) -> tuple[int | float | bool, ...] | Array:
        kind = self.integer(4)
        if kind == _STRING:
            return self._strings()
        layout = self._layout(kind)
        length = self.count("values of an array", layout.size)
        if length > _LONGEST_KEPT:
            self._skip(length * layout.size)
            return Array(_NAMES[kind], length)
        self._keep(length * _KEPT_OF_A_NUMBER)
        return tuple(value for (value,) in layout.iter_unpack(self._take(length * layout.size)))

    def _strings(self) -> Array:
        length = self.count("strings of an array", 8, _MOST_STRINGS - self._strings_passed)
        self._strings_passed += length
        for _ in range(length):
            self._skip(self.integer(8))
        return Array(_NAMES[_STRING], length)

    def _keep(self, length: int) -> None:
        self._kept_bytes += length
        if self._kept_bytes > _MOST_KEPT_BYTES:
            raise InputError(
                f"{self.name} is damaged: the names and texts of its header are longer than "
                f"{_MOST_KEPT_BYTES >> 20} MiB together."
            )

    def _layout(self, kind: int) -> struct.Struct:
        if kind not in _FORMATS:
            raise InputError(f"{self.name} is damaged: a value of the unknown type {kind} in its header.")
        return struct.Struct("<" + _FORMATS[kind])

    def _take(self, length: int) -> bytes:
        self.check(length, "what it announces")
        taken = self.stream.read(length)
        self.at += len(taken)
        if len(taken) < length:
            raise InputError(f"{self.name} ended after {self.at} of its {self.size} bytes; it was changed meanwhile.")
        return taken

    def _skip(self, length: int) -> None:
        self.check(length, "what it announces")
        self.stream.seek(length, 1)
        self.at += length
