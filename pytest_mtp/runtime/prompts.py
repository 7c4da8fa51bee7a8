"""The prompts that come with the package."""

import tomllib
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_mtp.core.prompt_library import Library

_SHIPPED = Path(__file__).parent.parent / "prompts"


@cache
def library() -> "Library":
    """Every prompt of the files in ``prompts/``, by its name."""
    import msgspec

    from pytest_mtp.core.prompt_library import LibraryPrompt

    found: dict[str, LibraryPrompt] = {}
    for path in sorted(_SHIPPED.glob("*.toml")):
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        found |= msgspec.convert(document, dict[str, LibraryPrompt])
    return MappingProxyType(found)
