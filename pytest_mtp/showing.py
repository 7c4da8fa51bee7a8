"""What a fixture shows while it works, and how it says what went wrong."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mtp.errors import MtpError

if TYPE_CHECKING:
    from pytest_mtp.runtime.progress import Progress


class Shown:
    """Progress on pytest's terminal although it captures output: called with a text, cleared when work is done."""

    def __init__(self, config: pytest.Config) -> None:
        from pytest_mtp.runtime.progress import ProgressLine

        reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
        self._capture: Any = config.pluginmanager.get_plugin("capturemanager")
        # pytest has no public way to its stream.
        self._line = ProgressLine(reporter._tw._file) if reporter else None

    def __call__(self, text: str) -> None:
        """Show the newest state."""
        if self._line is not None:
            with self._uncaptured():
                self._line.show(text)

    def clear(self) -> None:
        """Take the line away, so that pytest's dots do not follow it."""
        if self._line is not None:
            with self._uncaptured():
                self._line.clear()

    def _uncaptured(self) -> AbstractContextManager[None]:
        return self._capture.global_and_fixture_disabled() if self._capture else nullcontext()


@contextmanager
def plainly(progress: "Progress | Shown | None" = None) -> Iterator[None]:
    """Show what went wrong as its sentences, without a traceback through this package; clear the progress line."""
    said = None
    try:
        yield
    except MtpError as error:
        said = str(error)
    finally:
        if isinstance(progress, Shown):
            progress.clear()
    if said is not None:
        raise pytest.fail.Exception(said, pytrace=False) from None
