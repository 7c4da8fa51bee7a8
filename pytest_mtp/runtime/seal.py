"""What the files of an entry were when it was finished, so that damage of later is found before they are used."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_mtp.errors import CacheError

SEAL = ".mtp-seal.json"
"""The file of an entry that holds the hashes of the others."""

# 1 - first version
_VERSION = 1
_LINK = "-> "


@dataclass(frozen=True, slots=True)
class _Version:
    """What every version of the file has."""

    version: int


@dataclass(frozen=True, slots=True)
class _Stored:
    """The form of the file: by place below the folder the sha256, or where a link leads."""

    files: dict[str, str]


def sealed_files(folder: Path) -> dict[str, object]:
    """What the seal of all files below holds, as they are now."""
    return {"version": _VERSION, "files": dict(_files(folder))}


def is_sealed(folder: Path) -> bool:
    """Whether its files were written down; entries of earlier versions of this package have no seal."""
    return (folder / SEAL).is_file()


def damage(folder: Path) -> str | None:
    """Say which file is not what it was, or ``None``; files that came later are nobody's concern.

    Reads every byte: a tenth of a second for a llama-server, a second for one with CUDA's kernels.
    ``CacheError`` when a newer pytest-mtp sealed it.
    """
    import msgspec

    path = folder / SEAL
    try:
        stored = msgspec.json.decode(path.read_bytes(), type=_Version)
        if stored.version > _VERSION:
            raise CacheError(
                f"The cache entry {folder} was made by a newer pytest-mtp (its {SEAL} is of version "
                f"{stored.version}, not {_VERSION}): update pytest-mtp, or delete that folder."
            )
        sealed = msgspec.json.decode(path.read_bytes(), type=_Stored).files
    except msgspec.DecodeError:
        return f"its {SEAL} cannot be read"
    return _first_difference(folder, sealed)


def _first_difference(folder: Path, sealed: Mapping[str, str]) -> str | None:
    for name, then in sorted(sealed.items()):
        try:
            now = _state(folder / name)
        except (FileNotFoundError, NotADirectoryError):
            return f"{name} is gone"
        except (IsADirectoryError, ValueError):
            return f"{name} is not what it was when it was made"
        if now != then:
            return f"{name} is not what it was when it was made"
    return None


def _files(folder: Path) -> Iterator[tuple[str, str]]:
    for place, folders, files in os.walk(folder):
        links = [name for name in folders if Path(place, name).is_symlink()]
        for name in (*files, *links):
            path = Path(place, name)
            if not name.startswith(".mtp-"):
                yield str(path.relative_to(folder)), _state(path)


def _state(path: Path) -> str:
    if path.is_symlink():
        return f"{_LINK}{path.readlink()}"
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
