"""The doctor's page: findings as lines of a terminal."""

import re
import textwrap
from collections.abc import Iterable, Iterator

from pytest_mtp.core.finding import Finding, State

_STATE_WIDTH, _SUBJECT_WIDTH = 6, 10
_INDENT = " " * (_STATE_WIDTH + _SUBJECT_WIDTH)
_NARROWEST = len(_INDENT) + 20
# A number and its unit stay on one line.
_UNIT = re.compile(r"(?<=\d) (?=(?:[kMGT]?B|[MG]iB|GB/s|tok/s|W|°C|MHz)\b)")
_TIED = "\x00"


def page(title: str, findings: Iterable[Finding], ending: str, width: int) -> list[str]:
    """The whole page, no line wider than ``width`` but for a word that is."""
    body = (line for finding in findings for line in _lines(finding, width))
    return [*_whole(title, width), *body, *_whole(ending, width)]


def _whole(text: str, width: int) -> list[str]:
    """The text in lines in which no word is broken: a path is there to be copied."""
    return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)


def _lines(finding: Finding, width: int) -> Iterator[str]:
    state = "LACKS" if finding.state is State.LACK else finding.state.value
    head = f"{state:<{_STATE_WIDTH}}{finding.subject:<{_SUBJECT_WIDTH}}"
    for place, line in enumerate(finding.said.splitlines()):
        wrapped = textwrap.wrap(
            _UNIT.sub(_TIED, line),
            max(width, _NARROWEST),
            initial_indent=_INDENT if place else head,
            subsequent_indent=_INDENT,
            break_on_hyphens=False,
            break_long_words=False,
        )
        yield from (line.replace(_TIED, " ") for line in wrapped)
