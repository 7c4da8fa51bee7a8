"""Progress in a log that nobody watches, and on a terminal."""

import io

import pytest

from pytest_mtp.runtime.progress import ProgressLine, note


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO, *texts: str) -> str:
    line = ProgressLine(stream)
    for text in texts:
        line.show(text)
    line.clear()
    return stream.getvalue()


def test_a_log_gets_a_line_now_and_then_but_every_note() -> None:
    said = shown(io.StringIO(), "block 1", "block 2", note("the build is damaged"), "block 3")
    assert said.split("\n") == ["", "block 1", "note: the build is damaged", ""]


def test_on_a_terminal_a_note_stays_and_progress_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    said = shown(Terminal(), "block 1", f"n3: {note('the build is damaged, ' + 'and more ' * 20)}", "block 2")
    lines = said.split("\n")
    assert any(line.startswith("n3: note: the build is damaged") and line.endswith("and more ") for line in lines)
    assert said.endswith("\r\x1b[2K")
