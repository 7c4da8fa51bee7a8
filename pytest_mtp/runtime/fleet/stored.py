"""The files of a fleet, which anybody may have written: read whole, and refused by name."""

from pathlib import Path
from typing import Any, TypeVar

from pytest_mtp.core.fleet.cell import CellResult
from pytest_mtp.core.fleet.fleet_file import Machine, machines_of
from pytest_mtp.core.fleet.manifest import Manifest
from pytest_mtp.core.profile_text import toml_tables
from pytest_mtp.core.run_report import migrated
from pytest_mtp.errors import InputError, MtpError, SettingsError
from pytest_mtp.runtime.store import content_of

T = TypeVar("T")

_MOST_BYTES = 2**18
_LONGEST = 300


def load_machines(path: Path) -> tuple[Machine, ...]:
    """The machines of a ``fleet.toml``; SettingsError says what is wrong with it."""
    try:
        return machines_of(toml_tables(content_of(path, _MOST_BYTES)))
    except FileNotFoundError as error:
        raise SettingsError(f"There is no fleet file {path}; docs/fleet.md shows one.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(f"Fleet file {path} cannot be read: {error!s:.{_LONGEST}}.") from error
    except SettingsError as error:
        raise SettingsError(f"Fleet file {path}: {error}") from error


def load_manifest(path: Path) -> Manifest:
    """What ``fleet plan --out`` wrote; InputError says why a file is none."""
    return load(path, Manifest, "Write one with `pytest-mtp fleet plan FILE --out MANIFEST`.")


def load(path: Path, kind: type[T], mend: str) -> T:
    """A value of a JSON file; InputError names the file. A report of an older format is taken as this one's."""
    import msgspec

    try:
        document = msgspec.json.decode(content_of(path), type=dict[str, Any])
        if kind is CellResult and isinstance(document.get("report"), dict):
            document["report"] = migrated(document["report"])
        return msgspec.convert(document, kind)
    except FileNotFoundError as error:
        raise InputError(f"There is no {path}. {mend}") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path} cannot be read: {error!s:.{_LONGEST}}. {mend}") from error
    except MtpError as error:
        raise InputError(f"{path} cannot be used: {error!s:.{_LONGEST}}") from error
