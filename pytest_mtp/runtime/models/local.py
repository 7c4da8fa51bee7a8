"""A model that lies on this disk: all its parts are there, are GGUF, and are what they should be."""

from collections.abc import Sequence
from pathlib import Path

from pytest_mtp.core.model import Model, ModelSpec, content_identity, part_names
from pytest_mtp.errors import ModelError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.models.digest import Digests, reading
from pytest_mtp.runtime.progress import Progress


class LocalFetcher:
    """Use a file where it lies; of a split model, any part stands for all."""

    def fetch(self, spec: ModelSpec, cache: Cache, progress: Progress, *, refresh: bool, verify: bool) -> Model:
        """The model of a path; its hash is remembered in the cache, the file stays untouched."""
        del refresh
        asked = _expanded(spec.location)
        parts = [asked.with_name(name) for name in part_names(asked.name)]
        inspect(parts)
        digests = Digests(cache)
        return model_of(parts, [digests.sha256(part, progress, verify=verify) for part in parts])


def inspect(parts: Sequence[Path]) -> None:
    """Refuse what cannot be measured, by what a look into the files tells, before they are hashed."""
    for part in parts:
        _require_file(part, of=len(parts))
        with reading(part), part.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise ModelError(f"{part} is not a GGUF file; convert it, or give another with --mtp-model.")


def model_of(parts: Sequence[Path], sha256: Sequence[str]) -> Model:
    """The model that the parts and their hashes are."""
    return Model(
        path=parts[0],
        identity=content_identity(sha256),
        label=parts[0].name,
        size=sum(part.stat().st_size for part in parts),
    )


def _expanded(location: str) -> Path:
    try:
        return Path(location).expanduser()
    except RuntimeError as error:
        raise ModelError(f"{location} names a home folder that is not there; give another path.") from error


def _require_file(part: Path, *, of: int) -> None:
    if part.is_file():
        return
    if of == 1:
        raise ModelError(f"There is no model file {part}; give another with --mtp-model.")
    raise ModelError(f"A model of {of} parts lacks {part}; put it beside the others.")
