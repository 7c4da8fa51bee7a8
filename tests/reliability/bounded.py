"""Hostile input of megabytes, read by processes that may take only so much memory and processor time.

The kernel holds the bounds: a reader that would take more ends in MemoryError, or by SIGXCPU.
"""

import functools
import multiprocessing
import os
import resource
import struct
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from pytest_mtp.errors import MtpError
from pytest_mtp.runtime.header import model_header
from tests.laboratory.readers import readers

MIB = 2**20
HEADER_BYTES = 512 * MIB
"""What any GGUF header may take."""
BYTES_FOR_A_BYTE = 32
"""What any other document may take for each of its own bytes, and a little for the reader."""
_READER_BYTES = 96 * MIB
_PROCESSOR_S = 60
_WAIT_S = 150.0


@dataclass(frozen=True, slots=True)
class Hostile:
    """One document: who reads it, and what makes it."""

    reader: str
    make: Callable[[], bytes]


def outcome(name: str) -> str:
    """How reading ended: ``value``, ``MtpError: SENTENCE``, another error's words, or the signal."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.reliability.bounded"])
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_bounded, args=(name, theirs))
    process.start()
    theirs.close()
    try:
        return str(ours.recv()) if ours.poll(_WAIT_S) else "it did not end"
    except EOFError:
        process.join(_WAIT_S)
        return f"it was ended, exit code {process.exitcode}"
    finally:
        process.kill()
        process.join()


def _bounded(name: str, told: Connection) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        read = _sparse(name, folder) if name in SPARSE else _whole(name, folder)
        try:
            read()
        except MtpError as error:
            told.send(f"MtpError: {error}")
        except BaseException as error:  # whatever it is, it is told
            told.send(f"{type(error).__name__}: {error!s:.300}")
        else:
            told.send("value")
    told.close()


def _whole(name: str, folder: Path) -> Callable[[], object]:
    hostile = LARGE[name]
    data, reader = hostile.make(), readers()[hostile.reader]
    for sound in reader.sound()[:1]:  # what is loaded and made once is no cost of the document
        reader.read(sound, folder)
    _limit(_READER_BYTES + BYTES_FOR_A_BYTE * len(data))
    return lambda: reader.read(data, folder)


def _sparse(name: str, folder: Path) -> Callable[[], object]:
    path = folder / "model.gguf"
    with path.open("wb") as file:
        for offset, piece in SPARSE[name]().items():
            file.seek(offset)
            file.write(piece)
        file.truncate(1 << 42)
    _limit(HEADER_BYTES)
    return lambda: model_header(path)


def _limit(more_bytes: int) -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + more_bytes
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (_PROCESSOR_S, _PROCESSOR_S + 5))


def _begin(tensors: int, fields: int) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, fields)


def _name(number: int) -> bytes:
    return struct.pack("<Q", 8) + f"{number:08}".encode()


def _many_texts() -> dict[int, bytes]:
    """Fields with texts of 16 MiB of zeros, which take no space on the disk."""
    pieces, at, length = {0: _begin(0, 60_000)}, 24, 1 << 24
    for number in range(100):
        pieces[at] = _name(number) + struct.pack("<IQ", 8, length)
        at += 16 + 12 + length
    return pieces


def _many_arrays() -> dict[int, bytes]:
    """Fields with as many numbers as are kept of one."""
    numbers = struct.pack("<IIQ", 9, 0, 1024) + b"\xff" * 1024
    return {0: _begin(0, 60_000) + b"".join(_name(number) + numbers for number in range(60_000))}


def _many_tensors() -> dict[int, bytes]:
    """As many tensors as a model may have, of four dimensions."""
    shape = struct.pack("<I4QIQ", 4, 1, 1, 1, 1, 0, 0)
    return {0: _begin(1 << 17, 0) + b"".join(_name(number) + shape for number in range(1 << 17))}


SPARSE: Mapping[str, Callable[[], dict[int, bytes]]] = {
    "many long texts": _many_texts,
    "many short arrays": _many_arrays,
    "many tensors": _many_tensors,
    "fields without end": lambda: {0: _begin(0, 1 << 36)},
    "an array of strings without end": lambda: {0: _begin(0, 1) + _name(0) + struct.pack("<IIQ", 9, 8, 1 << 36)},
    "a text of gigabytes": lambda: {0: _begin(0, 1) + _name(0) + struct.pack("<IQ", 8, 1 << 40)},
    "four million strings": lambda: {0: _begin(0, 1) + _name(0) + struct.pack("<IIQ", 9, 8, 1 << 22)},
}
"""Headers in files of 4 TiB that are empty but for these pieces, by their offset."""

_SIZE = 2 * MIB


def _filled(piece: str, size: int = _SIZE, *, before: str = "", after: str = "") -> Callable[[], bytes]:
    return functools.partial(_made, piece, size, before, after)


def _made(piece: str, size: int, before: str, after: str) -> bytes:
    return (before + piece * (size // len(piece)) + after).encode()


def _each(name: str, documents: Mapping[str, Callable[[], bytes]], *which: str) -> dict[str, Hostile]:
    return {f"{reader}: {name} {what}": Hostile(reader, make) for reader in which for what, make in documents.items()}


def _event(make: Callable[[], bytes]) -> Callable[[], bytes]:
    return lambda: b"data: " + make() + b"\n\ndata: [DONE]\n\n"


_JSON = {
    "of lists": _filled("[],", before='{"version": 1, "a": [', after="0]}"),
    "of tables": _filled("{},", before='{"version": 1, "a": [', after="0]}"),
    "of one key again and again": _filled('"a":0,', before="{", after='"version":1}'),
    "nested without end": _filled("[", before='{"version": '),
    "of one number": _filled("9", before='{"version": ', after="}"),
    "of one text": _filled("x", before='{"version": "', after='"}'),
    "of a list": _filled("[1,2],", before="[", after="0]"),
}
_KEYS = "".join(f"k{number} = 1\n" for number in range(20_000))
_CLASSES = "".join(f'[[classes]]\nname = "c{number}"\n' for number in range(8_000))
_UNSET = ",".join(f'"a{number}"' for number in range(20_000))
_TOML = {
    "of keys that nobody knows": _KEYS.encode,
    "of classes without prompts": _CLASSES.encode,
    "of names to unset": f'extends = "phantom"\nname = "x"\nunset = [{_UNSET}]\n'.encode,
    "of a table deep inside": _filled("a.", 200_000, before="[", after="a]\nb = 1\n"),
    "of a deep key": _filled("a.", 200_000, after="a = 1\n"),
    "of a quoted deep key": _filled("'a' . ", 200_000, after="a = 1\n"),
    "of a long key": _filled("a", 200_000, after=" = 1\n"),
    "of tables inside each other": lambda: "".join(f"[{'a.' * 30}b{n}]\n" for n in range(3000)).encode(),
    "nested without end": _filled("[", 200_000, before="a = "),
    "of one number": _filled("9", 200_000, before="a = "),
    "beyond its bound": _filled("# x\n"),
}
_ROW = '["poem", "Write a poem."],\n'
LARGE: Mapping[str, Hostile] = {
    **_each("JSON", _JSON, "report", "baseline", "curve", "history", "imported", "published", "bisect", "prompts.json"),
    **_each("JSON", _JSON, "llama-bench"),
    **{f"event: JSON {what}": Hostile("openai stream", _event(make)) for what, make in _JSON.items()},
    **_each("TOML", _TOML, "profile"),
    "override: a key deep inside": Hostile("override", _filled("a.", 100_000, after="a=1")),
    "override: a number without end": Hostile("override", _filled("9", 100_000, before="server.ctx=")),
    "acknowledged: of keys": Hostile("acknowledged", _filled("a", 900_000, after=" = 1")),
    "acknowledged: beyond its bound": Hostile("acknowledged", _filled("# x\n")),
    "prompts: rows without end": Hostile("prompts.json", _filled(_ROW, before="[", after='["z", "z"]]')),
    "prompts: lines without end": Hostile("prompts", _filled('{"class": "a", "prompt": "b"}\n')),
    "help: rows without end": Hostile("help", _filled("  -a\n", MIB - 8)),
    "help: names without end": Hostile("help", _filled("-a, ", MIB - 8)),
    "help: beyond its bound": Hostile("help", _filled("  --port N  x\n")),
    "log: a line without end": Hostile("log", _filled("x")),
    "log: words without end": Hostile("log", _filled("x ")),
    "log: ports that were not bound": Hostile("log", _filled("couldn't bind ")),
    "log: builds": Hostile("log", _filled(": build ")),
    "log: debug builds": Hostile("log", _filled("x (debug)\n")),
    "log: buffers": Hostile("log", _filled("CPU model buffer size = 1 M")),
    "log: checks": Hostile("log", _filled("a.c:1")),
    "metrics: a line without end": Hostile("vllm metrics", _filled('a="b",', before="vllm:x{", after="} 1\n")),
    "metrics: lines without end": Hostile("vllm metrics", _filled("# TYPE a counter\na 1\n", MIB)),
    "metrics: labels without end": Hostile(
        "vllm metrics", _filled("a{" + ",".join(f'l{n}="x"' for n in range(400)) + "} 1\n", MIB)
    ),
    "metrics: escapes without end": Hostile("vllm metrics", _filled('a{b="' + '\\"' * 1900 + '"} 1\n', MIB)),
    "events: lines without end": Hostile("openai stream", _filled("data: {}\n\n")),
}
"""Documents of megabytes, by what they are."""
