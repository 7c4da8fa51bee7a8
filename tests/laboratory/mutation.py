"""Sound documents made unsound: bytes that change, and values of JSON that nobody expects in their place."""

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

_MOST_EDITS = 4
_RAW = re.compile(r'"@@(.*?)@@"')
# What json.dumps would not write, or not like this; each stands in the text without quotation marks.
_RAW_VALUES = (
    "NaN",
    "Infinity",
    "-Infinity",
    "1e400",
    "-1e400",
    "1e308",
    "5e-324",
    "-0.0",
    "9" * 400,
    "9" * 5000,
    "[" * 200 + "]" * 200,
    "[" * 5000 + "]" * 5000,
    '{\\"a\\":'.replace("\\", "") * 3000 + "1" + "}" * 3000,
)
_VALUES: tuple[Any, ...] = (
    *(f"@@{index}@@" for index in range(len(_RAW_VALUES))),
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    2**64,
    10**15,
    0.5,
    -1.5,
    1e-300,
    [],
    {},
    "",
    "../../etc/passwd",
    "/",
    "..",
    "a\0b",
    "\ud800",
    "\u202e\x1b[2J",
    "٣",
    "x" * 5000,
    "2026-13-45T99:99:99",
    "9999-12-31T23:59:59-23:59",
    "0001-01-01T00:00:00+23:59",
    ["a"],
    {"a": 1},
)
_PIECES = (
    b"",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\n",
    b"\r\n",
    b" " * 200,
    b"=",
    b".",
    b"a." * 300,
    b"[",
    b"]",
    b"{",
    b"}",
    b'"',
    b"'''",
    b"-",
    b", -a" * 50,
    b"#",
    b"9" * 5000,
    b"-1",
    b"nan",
    b"inf",
    b"1e400",
    b"1979-05-27T07:32:00Z",
    b"\xd9\xa3",
    b"../../x",
    b"(env: ",
    b"allowed values: ",
    b"\xff" * 8,
    b"\x00" * 8,
    b"\x01\x00\x00\x00\x00\x00\x00\x00",
)


def changed_bytes(random: Random, data: bytes) -> bytes:
    """A few bytes of it flipped, cut, doubled, put elsewhere, or something strange put among them."""
    for _ in range(random.randint(1, _MOST_EDITS)):
        data = random.choice(_EDITS)(random, data)
    return data


def changed_json(random: Random, data: bytes) -> bytes:
    """A few values of it are others, keys are gone, twice or renamed, lists are longer; it mostly stays JSON."""
    document = json.loads(data)
    for _ in range(random.randint(1, _MOST_EDITS)):
        document = _changed(random, document)
    text = json.dumps(document)
    if random.random() < 0.1:  # a key twice, which an object of Python cannot hold
        text = re.sub(r'("[^"\\]+"): ([^,{}\[\]]+)', r"\1: \2, \1: null", text, count=1)
    return _RAW.sub(lambda found: _RAW_VALUES[int(found[1])], text).encode()


def _flipped(random: Random, data: bytes) -> bytes:
    if not data:
        return b"\x00"
    place = random.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << random.randrange(8)]) + data[place + 1 :]


def _cut(random: Random, data: bytes) -> bytes:
    start, end = sorted(random.randrange(len(data) + 1) for _ in range(2))
    return data[:start] if random.random() < 0.3 else data[:start] + data[end:]


def _with_piece(random: Random, data: bytes) -> bytes:
    place, piece = random.randrange(len(data) + 1), random.choice(_PIECES)
    return data[:place] + piece + data[place + random.choice((0, len(piece))) :]


def _doubled(random: Random, data: bytes) -> bytes:
    start, end = sorted(random.randrange(len(data) + 1) for _ in range(2))
    place = random.randrange(len(data) + 1)
    return data[:place] + data[start : min(end, start + 5000)] + data[place:]


_EDITS: tuple[Callable[[Random, bytes], bytes], ...] = (_flipped, _cut, _with_piece, _doubled)


def _changed(random: Random, document: Any) -> Any:
    """The document with one value or key of it changed, at any depth."""
    if isinstance(document, dict) and document and random.random() < 0.9:
        return _changed_object(random, document)
    if isinstance(document, list) and document and random.random() < 0.9:
        place = random.randrange(len(document))
        if random.random() < 0.15:
            return document[:place] + document[place + random.randint(0, 1) :] * random.randint(0, 2)
        return [*document[:place], _changed(random, document[place]), *document[place + 1 :]]
    return random.choice(_VALUES)


def _changed_object(random: Random, document: dict[str, Any]) -> dict[str, Any]:
    key = random.choice(list(document))
    how = random.random()
    if how < 0.08:
        return {name: value for name, value in document.items() if name != key}
    if how < 0.12:
        renamed = random.choice(("", "../x", f"{key}x", "x" * 5000, "version"))
        return {renamed if name == key else name: value for name, value in document.items()}
    return {**document, key: _changed(random, document[key])}
