"""The text of a TOML file that a stranger may have written, as tables."""

import re
import tomllib
from typing import Any

# Each part of a dotted key costs the reader as much as all parts before it, in time and in memory.
_DEEP_KEY = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){32}""",
    re.ASCII,
)


def toml_tables(content: bytes) -> dict[str, Any]:
    """The document; ValueError, its subclass TOMLDecodeError included, or RecursionError says why it is none."""
    text = content.decode()
    if (deep := _DEEP_KEY.search(text)) is not None:
        line = text.count("\n", 0, deep.start()) + 1
        raise ValueError(f"line {line} has a key of more than 32 parts, and no table is nested so deep")
    return tomllib.loads(text)
