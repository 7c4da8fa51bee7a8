"""Somebody's words on a surface that reads more than words in them: names, labels, subjects, reasons.

Each function makes them harmless for one reader, and leaves an ordinary name as it is.
"""

import re
import unicodedata

_CUT = "…"
# Line and paragraph separators end a line for some readers, and the bidirectional marks reorder what is shown.
_BREAKS = frozenset("\u2028\u2029\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_MARKUP = str.maketrans(
    {
        **{special: f"\\{special}" for special in "\\|*_[]~"},
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        "$": "&#36;",
        "`": "'",
        # A mention and a link are found in the finished page, where neither a backslash nor an entity hides them.
        "@": "@\u200b",
    }
)
_LINKED = re.compile(r"(?<=/)(?=/)|(?<=www)(?=\.)|(?<=#)(?=\d)|(?<=\bGH)(?=-\d)", re.IGNORECASE)
# A spreadsheet takes a text that begins like this for a formula, and some formulas send what is in the sheet away.
_FORMULA = ("=", "+", "-", "@")
_STARTS_A_BLOCK = re.compile(r"^(\d*)(?=[-+#=.)](?:\W|$))")


def one_line(text: str, longest: int | None = None) -> str:
    """The text without anything that moves a cursor or ends a line; stray bytes are spelled out."""
    shown = "".join(map(_visible, text))
    return shown if longest is None or len(shown) <= longest else shown[: longest - 1] + _CUT


def for_markdown(text: str, longest: int = 400) -> str:
    """The text as words of a line, list or cell of Markdown: no markup, no mention, no link."""
    shown = one_line(text, longest).strip()
    return _STARTS_A_BLOCK.sub(r"\1\\", _LINKED.sub("\u200b", shown).translate(_MARKUP))


def for_log(text: str) -> str:
    """The text as a line of a job's log, in which a runner looks for commands."""
    shown = one_line(text).replace("##[", "## [")
    # The runner trims a line before it looks for the colons.
    return re.sub(r"^(\s*):(?=:)", r"\1: ", shown)


def for_sheet(text: str) -> str:
    """The text as a cell of a spreadsheet, in which it is no formula."""
    shown = one_line(text)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) else shown


def _visible(letter: str) -> str:
    category = unicodedata.category(letter)
    if category == "Cs":
        return f"\\u{ord(letter):04x}"
    return " " if category == "Cc" or letter in _BREAKS else letter
