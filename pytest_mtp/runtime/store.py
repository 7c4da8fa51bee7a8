"""Baselines and reports on disk: read whole, written atomically, refused by name when unreadable."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pytest_mtp.core.baseline import BASELINE_VERSION, BaselineFile
from pytest_mtp.core.curve_report import CurveReport
from pytest_mtp.core.fingerprint import Fingerprint
from pytest_mtp.core.published import PublishedTable
from pytest_mtp.core.run_report import RunReport, migrated
from pytest_mtp.errors import InputError, MtpError

T = TypeVar("T")

MOST_BYTES = 64 * 2**20
"""Far above any run; what is larger is none. A byte of JSON may take 32 in memory, so this bounds it to 2 GiB."""


class Baselines:
    """The folder ``baselines/``: ``<fingerprint slug>/<profile>.json``, one file per machine and profile."""

    def __init__(self, folder: Path, machine: Fingerprint, profile: str) -> None:
        if profile in {"", ".", ".."} or set("/\\\0") & set(profile):  # as a stranger's report may say
            raise InputError(f"{profile!r} is no name of a file, so this profile has no baselines. Give it another.")
        self._folder = folder
        self.path = folder / machine.slug / f"{profile}.json"
        self._empty = BaselineFile(version=BASELINE_VERSION, profile=profile, fingerprint=machine.facts)

    def load(self) -> BaselineFile:
        """What is on record; an empty file's worth when nothing is."""
        return load_baseline(self.path) if self.path.exists() else self._empty

    def save(self, file: BaselineFile) -> None:
        """Put the file in the place of what was there; InputError where that is a link out of the folder."""
        if not self.path.resolve().is_relative_to(self._folder.resolve()):
            raise InputError(f"{self.path} is a link out of its folder, so it is not written. Put a file in its place.")
        write_json(self.path, file)


def load_baseline(path: Path) -> BaselineFile:
    """A file of the folder ``baselines/``; what only looks like one, such as a link to a terminal, is not read."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is no file. Restore it or move it away.")
    return _decode(path, BaselineFile, made_by="--mtp-update-baselines")


def load_report(path: Path) -> RunReport:
    """A report written by ``--mtp-json``."""
    return _decode(path, RunReport, migrated)


def load_curve(path: Path) -> CurveReport:
    """A curve written by ``pytest-mtp curve --json``."""
    return _decode(path, CurveReport, made_by="pytest-mtp curve --json FILE")


def load_value(path: Path, kind: type[T]) -> T:
    """A value that ``write_json`` wrote, of a file that is nobody's interface."""
    return _decode(path, kind)


def load_published(path: Path) -> tuple[PublishedTable, ...]:
    """Tables that somebody published, of a JSON file."""
    import msgspec

    try:
        return msgspec.json.decode(content_of(path), type=tuple[PublishedTable, ...])
    except (OSError, msgspec.DecodeError, ValueError, RecursionError, MtpError) as error:
        raise InputError(f"{path} holds no published tables: {error!s:.500} Give a JSON list of tables.") from error


def write_json(path: Path, value: Any) -> None:
    """Write a value as indented JSON: synced under another name, then renamed into place; InputError if refused."""
    write_bytes(path, encoded(value))


def encoded(value: Any) -> bytes:
    """A value as indented JSON, which is the same for the same value."""
    import msgspec

    plain = msgspec.to_builtins(value, str_keys=True)  # else a key that is an enum could not be sorted
    try:
        text = msgspec.json.encode(plain, order="deterministic")
    except UnicodeEncodeError:  # of half a letter, in what a compiler or server printed
        text = json.dumps(plain, sort_keys=True, ensure_ascii=False).encode(errors="replace")
    return msgspec.json.format(text, indent=1) + b"\n"


def write_text(path: Path, text: str) -> None:
    """Write a text in the same way; what is no letter of it, such as a compiler's stray bytes, is spelled out."""
    write_bytes(path, text.encode(errors="backslashreplace"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes in the same way; a link stays one, and into a pipe or device, such as /dev/stdout, they go as is."""
    place = Path(os.path.realpath(path)) if path.is_symlink() else path
    waiting = place.parent / f".{place.name}.{os.getpid()}"
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            path.write_bytes(content)
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        with waiting.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        waiting.replace(place)
    except OSError as error:
        with suppress(OSError):
            waiting.unlink(missing_ok=True)
        raise InputError(f"{path} cannot be written: {error}. Name a file in a folder that can be written.") from error


def content_of(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """The content of a file, pipes included; ValueError for one without an end, or with a name that none can have."""
    with path.open("rb") as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        most = f"{most_bytes // 2**20} MiB" if most_bytes >= 2**20 else f"{most_bytes // 2**10} KiB"
        raise ValueError(f"it is larger than {most}")
    return content


def _decode(
    path: Path,
    kind: type[T],
    migrate: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    made_by: str = "--mtp-json FILE",
) -> T:
    import msgspec

    try:
        return msgspec.convert(migrate(msgspec.json.decode(content_of(path), type=dict[str, Any])), kind)
    except FileNotFoundError as error:
        raise InputError(f"There is no {path}; {made_by} writes one.") from error
    except (OSError, msgspec.DecodeError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path} is not a {kind.__name__}: {error!s:.500}. Restore it or move it away.") from error
    except MtpError as error:
        raise InputError(f"{path}: {error!s:.500}") from error
