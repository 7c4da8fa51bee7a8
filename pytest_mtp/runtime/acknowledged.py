"""The changes that somebody looked at: ``acknowledged.toml``, kept beside the baselines and edited by hand.

One table per change::

    [[change]]
    series = "phantom/n3/*/speedup"
    run = "20260304T020000-phantom-1a2b3c4d"
    reason = "the sampler moved to the GPU"
    who = "Ada"
"""

from pathlib import Path

from pytest_mtp.core.history_verdict import Acknowledgement
from pytest_mtp.core.profile_text import toml_tables
from pytest_mtp.errors import InputError
from pytest_mtp.runtime.store import content_of

_TABLE = "change"
_MOST_BYTES = 2**20
_FIELDS = ("series", "run", "reason", "who")


def load_acknowledged(path: Path) -> tuple[Acknowledgement, ...]:
    """The acknowledgements of a file, in its order; none where there is no file, InputError where it is unsound."""
    try:
        document = toml_tables(content_of(path, _MOST_BYTES))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read: {error!s:.400}. Mend it; it holds [[{_TABLE}]] tables.") from error
    if unknown := sorted(document.keys() - {_TABLE}):
        raise InputError(
            f"{path} has an unknown key {unknown[0]!r:.60}. It holds [[{_TABLE}]] tables and nothing else."
        )
    tables = document.get(_TABLE, [])
    if not isinstance(tables, list):
        raise InputError(f"{path}: {_TABLE} is not an array of tables. Write [[{_TABLE}]] above each one.")
    return tuple(_acknowledgement(path, number, one) for number, one in enumerate(tables, start=1))


def _acknowledgement(path: Path, number: int, table: object) -> Acknowledgement:
    import msgspec

    where = f"{path}, [[{_TABLE}]] number {number}"
    if isinstance(table, dict) and (unknown := sorted(table.keys() - set(_FIELDS))):
        raise InputError(f"{where} has an unknown key {unknown[0]!r:.80}. Its keys are {_listed(_FIELDS)}.")
    try:
        found = msgspec.convert(table, Acknowledgement)
    except msgspec.ValidationError as error:
        raise InputError(f"{where}: {error}. Give {_listed(_FIELDS)}, each a text.") from error
    if empty := [name for name in _FIELDS if not getattr(found, name).strip()]:
        raise InputError(f"{where}: {empty[0]} is empty. Say who looked at which change, and what it was.")
    return found


def _listed(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
