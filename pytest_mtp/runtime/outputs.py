"""The folder of ``--mtp-out``: several texts that belong together."""

from collections.abc import Mapping
from pathlib import Path

from pytest_mtp.runtime.store import write_text


def write_all(folder: Path, texts: Mapping[str, str]) -> None:
    """Write each text under its name, each whole or not at all; InputError names the first that is refused."""
    for name, text in texts.items():
        write_text(folder / name, text)
