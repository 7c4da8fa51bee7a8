"""What every reader of another tool's file has in common."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from pytest_mtp.core.history import ClassEntry, Entry
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.errors import InputError


@dataclass(frozen=True, slots=True)
class Pair:
    """The files of both arms, each as decoded JSON, where the tool writes one file for each server it asks."""

    plain: object
    mtp: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What files do not say of themselves; the time and the flag set of a file that says them go first."""

    run: str
    profile: str
    flag_set: str
    build: str
    """Label of the llama.cpp that was measured; ``b9030`` and the like also tell how its server counted tok/s."""
    at: str | None = None
    """RFC 3339; ``None`` where the file says when it was measured, which only pytest-benchmark's does."""
    machine: dict[str, str] = field(default_factory=dict)
    """The facts of the machine, by the names of a report's fingerprint; they go before those of a file."""
    arm: Arm | None = None
    """Of a single file; ``None``: mtp where anything was drafted, else plain."""

    def measured_at(self, told: object = None) -> str:
        """When it was measured, RFC 3339 in UTC, so that times can be sorted as texts; InputError names a bad one."""
        said = told if isinstance(told, str) else self.at
        if said is None:
            raise InputError("The file does not say when it was measured: tell the time as 2026-05-06T12:00:00Z.")
        try:
            when = datetime.fromisoformat(said)
            # Without a zone it is taken for UTC: astimezone() would ask this machine for its own.
            zoned = when if when.tzinfo else when.replace(tzinfo=UTC)
            return zoned.astimezone(UTC).isoformat(timespec="seconds")
        except (ValueError, OverflowError) as error:
            raise InputError(f"{said!r} is no time: tell it as 2026-05-06T12:00:00Z.") from error

    def entry(
        self,
        tool: str,
        facts: Mapping[str, str],
        classes: dict[str, ClassEntry],
        *,
        at: str | None = None,
        flag_set: str | None = None,
    ) -> Entry:
        """An entry that this tool measured; ``at`` and ``flag_set`` where the file says them."""
        return Entry(
            run=self.run,
            at=at or self.measured_at(),
            profile=self.profile,
            flag_set=flag_set or self.flag_set,
            build=self.build,
            facts={**self.machine, **facts},
            classes=classes,
            imported_from=tool,
        )


class Importer(Protocol):
    """Reads the files of one tool; a module of this folder is one."""

    def recognizes(self, document: object) -> bool:
        """Whether this decoded JSON, or pair of them, has the shape of the tool's files."""

    def entries(self, document: object, origin: Origin) -> tuple[Entry, ...]:
        """What the history keeps of it; InputError names the key whose value cannot be used."""


def each_has(document: object, **kinds: type) -> bool:
    """Whether every file is an object that has these keys, with values of these kinds."""
    files = (document.plain, document.mtp) if isinstance(document, Pair) else (document,)
    return all(
        isinstance(one, Mapping) and all(isinstance(one.get(key), kind) for key, kind in kinds.items()) for one in files
    )
