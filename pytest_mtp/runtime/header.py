"""The header of a model's file, or of all files of a split model."""

import stat
from pathlib import Path

from pytest_mtp.core.gguf_header import Header, merged, read_header
from pytest_mtp.core.model import part_names
from pytest_mtp.errors import InputError, SettingsError


def model_header(path: Path) -> Header:
    """Read the header of a GGUF file; of a split model, of which ``path`` is any part, those of all parts.

    InputError names the file and what is wrong with it: missing, unreadable, truncated, not GGUF. Milliseconds
    for most models, half a second for a vocabulary of a quarter million tokens.
    """
    header = _header_of(path)
    if header.part is None:
        return header
    return merged([_header_of(part) for part in _parts(path, header)], name=str(path))


def _parts(path: Path, header: Header) -> list[Path]:
    try:
        names = part_names(path.name)
    except SettingsError as error:
        raise InputError(str(error)) from error
    if len(names) != header.parts:
        raise InputError(
            f"{path} is a part of a model that is split into {header.parts} files, and its name does not say so: "
            f"name it as llama.cpp does, NAME-00001-of-{header.parts:05}.gguf, with all parts in one folder."
        )
    return [path.with_name(name) for name in names]


def _header_of(path: Path) -> Header:
    try:
        told = path.stat()
        if not (stat.S_ISREG(told.st_mode) or stat.S_ISDIR(told.st_mode)):
            # Opening a pipe waits for whoever writes into it.
            raise InputError(f"The model {path} is a pipe or a device, and no file; check --mtp-model.")
        with path.open("rb") as stream:
            return read_header(stream, told.st_size, name=str(path))
    except OSError as error:
        raise InputError(f"The model {path} cannot be read ({error.strerror or error}); check --mtp-model.") from error
    except ValueError as error:  # a name with a NUL in it
        raise InputError(f"{str(path)!r} cannot name a model ({error}); check --mtp-model.") from error
