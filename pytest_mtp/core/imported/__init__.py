"""Files of other tools as entries of the history: what people measured before they had this."""

from pytest_mtp.core.history import Entry
from pytest_mtp.core.imported import mtp_bench, pytest_benchmark, speed_bench
from pytest_mtp.core.imported.protocol import Importer, Origin, Pair
from pytest_mtp.errors import InputError

__all__ = ["Importer", "Origin", "Pair", "imported"]

_IMPORTERS: tuple[Importer, ...] = (pytest_benchmark, mtp_bench, speed_bench)


def imported(document: object, origin: Origin) -> tuple[Entry, ...]:
    """Entries of decoded JSON, or of a ``Pair`` of it; InputError where no tool wrote it, or a value is no value."""
    for importer in _IMPORTERS:
        if importer.recognizes(document):
            return importer.entries(document, origin)
    said = "these are not two files of one of them" if isinstance(document, Pair) else "this file is of none of them"
    raise InputError(
        "What can be imported: the JSON of pytest-benchmark (--benchmark-json), of mtp-bench.py (--out) and of "
        f"llama.cpp's speed_bench.py (--output), the last two also as plain=FILE mtp=FILE; {said}."
    )
