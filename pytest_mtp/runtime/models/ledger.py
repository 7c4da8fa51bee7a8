"""What was found out about models before, so that a run need not ask or hash again."""

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pytest_mtp.errors import CacheError, InputError
from pytest_mtp.runtime.cache import Cache
from pytest_mtp.runtime.store import write_json

T = TypeVar("T")

# 1 - first version
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Ledger(Generic[T]):
    """Entries of one kind by their names, in ``ROOT/models/NAME.json``; shared by processes.

    A reader meets a whole file without a lock; a writer holds ``NAME.json.lock`` while it reads the
    newest file, adds its entry and renames the result into place.
    """

    cache: Cache
    name: str
    kind: type[T]

    @property
    def path(self) -> Path:
        """Where the entries are."""
        return self.cache.root.expanduser().absolute() / "models" / f"{self.name}.json"

    def entries(self) -> dict[str, T]:
        """All that is on record; ``CacheError`` when the file is not ours to read."""
        import msgspec

        try:
            stored = msgspec.json.decode(self.path.read_bytes(), type=dict[str, msgspec.Raw])
            if (version := msgspec.json.decode(stored["version"], type=int)) != _VERSION:
                raise CacheError(
                    f"{self.path} is of version {version}, not {_VERSION}: update pytest-mtp, or delete it."
                )
            return msgspec.json.decode(stored["entries"], type=dict[str, self.kind])  # type: ignore[name-defined]
        except FileNotFoundError:
            return {}
        except (OSError, KeyError, msgspec.DecodeError) as error:
            raise CacheError(f"{self.path} cannot be read: {error}. Delete it; it is then made anew.") from error

    def get(self, name: str) -> T | None:
        """The entry of a name, or ``None``."""
        return self.entries().get(name)

    def put(self, added: dict[str, T]) -> None:
        """Add or replace entries; another process's are kept."""
        with self.cache.guard(self.path):
            entries = self.entries() | added
            try:
                write_json(self.path, {"version": _VERSION, "entries": entries})
            except InputError as error:
                raise CacheError(
                    f"{self.path} cannot be written: {error.__cause__}. Free space or use --mtp-cache-dir."
                ) from error
