"""Whether the entries of the cache still are what their names say."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_mtp.core.upkeep import MIRROR, Entry, Flaw
from pytest_mtp.errors import BuildError, CacheError
from pytest_mtp.runtime.build import server_version
from pytest_mtp.runtime.cache import Cache, recipe_hash
from pytest_mtp.runtime.seal import damage, is_sealed
from pytest_mtp.runtime.upkeep import entries, folder_of, recipe_of

Recipe = Mapping[str, Any]

_BUILT = Path("bin") / "llama-server"


def flaws(cache: Cache) -> Iterator[Flaw]:
    """Tell each thing that is wrong with a finished entry; seconds, since every build is started once."""
    found = entries(cache)
    mirrors = {one.name for one in found if one.kind == MIRROR and one.used_s is not None}
    for entry in found:
        if entry.used_s is not None and (text := _flaw(cache, entry, mirrors)) is not None:
            yield Flaw(entry, text)


def _flaw(cache: Cache, entry: Entry, mirrors: set[str]) -> str | None:
    folder = folder_of(cache, entry)
    try:
        recipe = recipe_of(folder)
    except (OSError, ValueError) as error:
        return f"its stamp cannot be read: {error}"
    if recipe_hash(recipe) != entry.name.rpartition("-")[2]:
        return f"its stamp is of another entry ({recipe_hash(recipe)})"
    if entry.mirror is not None and entry.mirror not in mirrors:
        return f"its history was in mirror/{entry.mirror}, which is gone"
    check = _CHECKS.get(entry.kind)
    return _damage(folder) or (check(folder, recipe) if check is not None else None)


def _damage(folder: Path) -> str | None:
    """Whether its files are what they were when they were made; entries of earlier versions cannot tell."""
    try:
        return damage(folder) if is_sealed(folder) else None
    except (CacheError, OSError) as error:
        return str(error)


def _build(folder: Path, _recipe: Recipe) -> str | None:
    try:
        server_version(folder / _BUILT)
    except BuildError as error:
        return str(error)
    return None


def _phantom(folder: Path, recipe: Recipe) -> str | None:
    """Compare the file with the tensors of its recipe; the recipe of another writer tells nothing here."""
    from pytest_mtp.phantom.spec import WRITER_VERSION, PhantomSpec, parse_head
    from pytest_mtp.phantom.tensors import tensors

    file = folder / "phantom.gguf"
    if not file.is_file():
        return f"it has no {file.name}"
    values = dict(recipe)
    if values.pop("writer", None) != WRITER_VERSION:
        return None
    wrong = tuple((name, share) for name, share in values.pop("wrong"))
    spec = PhantomSpec(**values | {"wrong": wrong, "head": parse_head(values["head"])})
    size, least = file.stat().st_size, sum(tensor.stored_bytes() for tensor in tensors(spec))
    return f"{file.name} is cut off: it has {size} bytes, its tensors alone have {least}" if size < least else None


def _mirror(folder: Path, _recipe: Recipe) -> str | None:
    lacking = [name for name in ("HEAD", "config", "objects") if not (folder / name).exists()]
    return f"it is no git repository: it has no {lacking[0]}" if lacking else None


_CHECKS: Mapping[str, Callable[[Path, Recipe], str | None]] = MappingProxyType(
    {"build": _build, "phantom": _phantom, MIRROR: _mirror}
)
