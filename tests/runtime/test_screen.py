"""A block of lines is overwritten on a terminal, and elsewhere each change is a line."""

import io

import pytest

from pytest_mtp.runtime.progress import ProgressLine
from pytest_mtp.runtime.screen import Screen


@pytest.fixture(autouse=True)
def _capable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def seen(written: str) -> list[str]:
    """What a terminal shows of it: this test's own reading of the three sequences that are used."""
    lines: list[str] = [""]
    row = 0
    while written:
        if written.startswith("\x1b["):
            code, letter, written = written[2:].partition(next(c for c in written[2:] if c.isalpha()))
            if letter == "A":
                row -= int(code)
            elif letter == "J":
                del lines[row + 1 :]
                lines[row] = ""
            else:
                lines[row] = ""
        elif written[0] == "\n":
            row, written = row + 1, written[1:]
            lines += [""] * (row + 1 - len(lines))
        else:
            lines[row], written = lines[row] + written[0], written[1:]
    return lines


def test_a_terminal_shows_the_newest_block_alone_and_nothing_once_cleared() -> None:
    stream = Terminal()
    screen = Screen(stream)
    screen.show(["a", "b", "c"], "x")
    screen.show(["d", "e"], "y")
    assert seen(stream.getvalue()) == ["d", "e", ""]
    screen.clear()
    screen.clear()
    assert seen(stream.getvalue()) == [""]


def test_elsewhere_every_change_is_a_line_and_nothing_is_taken_away() -> None:
    stream = io.StringIO()
    screen = Screen(stream)
    for change in ("one", "two"):
        screen.show(["block"], change)
    screen.clear()
    assert stream.getvalue() == "one\ntwo\n"


def test_a_dumb_terminal_gets_lines_and_no_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    block, line = Terminal(), Terminal()
    Screen(block).show(["block"], "one")
    ProgressLine(line).show("block 1")
    ProgressLine(line).clear()
    assert (block.getvalue(), line.getvalue()) == ("one\n", "\nblock 1\n")
