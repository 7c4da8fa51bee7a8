"""What one look into a pod has shown: new lines of its log, and whether the work has ended."""

from dataclasses import dataclass

_SEPARATOR = "\x1e"


@dataclass(frozen=True, slots=True)
class Look:
    """One reading."""

    lines: tuple[str, ...]
    """Whole lines; the last one may still be written and comes with the next look."""
    status: int | None
    """The work's exit status; ``None`` while it goes on."""


def parse_look(text: str) -> Look | None:
    """What ``look_words`` wrote; ``None`` where it did not come whole, so that it is asked for again."""
    log, separator, status = text.rpartition(_SEPARATOR)
    if not separator:
        return None
    *lines, rest = log.split("\n")
    ended = int(status) if status.strip().isdecimal() else None
    # A program that ended leaves its last line as it is.
    last = (rest,) if rest and ended is not None else ()
    return Look((*lines, *last), ended)
