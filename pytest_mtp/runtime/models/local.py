"""A model that lies on this disk: all its parts are there, are whole, and have an MTP layer."""

from collections.abc import Sequence
from pathlib import Path

from pytest_mtp.core.gguf_header import Header
from pytest_mtp.core.model import Glance, Model, ModelSpec, content_identity, part_names
from pytest_mtp.core.mtp_layer import mtp_complaint
from pytest_mtp.errors import InputError, ModelError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.header import model_header
from pytest_mtp.runtime.models.digest import Digests, reading
from pytest_mtp.runtime.progress import Progress


class LocalFetcher:
    """Use a file where it lies; of a split model, any part stands for all."""

    def fetch(self, spec: ModelSpec, cache: Cache, progress: Progress, *, refresh: bool, verify: bool) -> Model:
        """The model of a path; its hash is remembered in the cache, the file stays untouched."""
        del refresh
        parts = _parts(spec)
        inspect(parts)
        digests = Digests(cache)
        return model_of(parts, [digests.sha256(part, progress, verify=verify) for part in parts])

    def glance(self, spec: ModelSpec, cache: Cache, progress: Progress) -> Glance:
        """The header of the file, whether or not it can be measured with."""
        del cache, progress
        header = _header(_parts(spec))
        return Glance(here=True, size=header.size, header=header)


def inspect(parts: Sequence[Path]) -> Header:
    """The header of what can be measured; ModelError for what is no whole model, or has no MTP layer."""
    header = _header(parts)
    if (complaint := mtp_complaint(header)) is not None:
        raise ModelError(f"{parts[0]}: {complaint}")
    return header


def model_of(parts: Sequence[Path], sha256: Sequence[str]) -> Model:
    """The model that the parts and their hashes are."""
    return Model(
        path=parts[0],
        identity=content_identity(sha256),
        label=parts[0].name,
        size=sum(part.stat().st_size for part in parts),
    )


def _parts(spec: ModelSpec) -> list[Path]:
    asked = _expanded(spec.location)
    if not asked.name:
        return [asked]  # a root or the present folder, which is refused as what it is
    return [asked.with_name(name) for name in part_names(asked.name)]


def _header(parts: Sequence[Path]) -> Header:
    for part in parts:
        _require_file(part, of=len(parts))
    try:
        return model_header(parts[0])
    except InputError as error:
        raise ModelError(str(error)) from error


def _expanded(location: str) -> Path:
    try:
        return Path(location).expanduser()
    except RuntimeError as error:
        raise ModelError(f"{location} names a home folder that is not there; give another path.") from error


def _require_file(part: Path, *, of: int) -> None:
    with reading(part):
        if part.is_file():
            return
        if part.is_dir():
            raise ModelError(f"{part} is a folder; name the .gguf file in it with --mtp-model.")
    if of == 1:
        raise ModelError(f"There is no model file {part}; give another with --mtp-model.")
    raise ModelError(f"A model of {of} parts lacks {part}; put it beside the others.")
