"""What a command measured before it ended by force: kept, and said how to go on from it."""

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_mtp.core.amount import counted
from pytest_mtp.core.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_mtp.runtime.journal import Journals


@contextmanager
def keeping_blocks(settings: Settings) -> "Iterator[Journals]":
    """Keep finished blocks until the ``with`` block has written what it found; SIGTERM and SIGHUP end it as Ctrl-C."""
    from pytest_mtp.runtime.cache import Cache
    from pytest_mtp.runtime.interrupt import sigterm_as_ctrl_c
    from pytest_mtp.runtime.journal import Journals

    journals, over = Journals(cache=Cache(settings.cache_dir), resume=settings.resume), False
    try:
        with sigterm_as_ctrl_c():
            yield journals
        over = True
    finally:
        if kept := journals.close(over=over):
            sys.stderr.write(f"\n{counted(kept, 'finished block')} kept: the same command with --resume goes on.\n")
