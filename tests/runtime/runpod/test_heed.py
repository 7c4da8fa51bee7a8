"""A signal is heeded, also one whose exception was lost in a fork, as Python loses it."""

import signal
from contextlib import suppress

import pytest

from pytest_mtp.core.runpod.pod import Door
from pytest_mtp.core.runpod.ssh_words import Way
from pytest_mtp.runtime.runpod.heed import check_interrupted, heeding_signals
from pytest_mtp.runtime.runpod.shell import Shell

POLITE = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
NOWHERE = Way(Door("127.0.0.1", 1), "/nowhere", "/dev/null")


@pytest.mark.parametrize("number", POLITE)
def test_a_signal_ends_the_block(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), heeding_signals():
        signal.raise_signal(number)
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("number", POLITE)
def test_a_signal_that_was_lost_is_heeded_after_the_next_child(number: signal.Signals) -> None:
    with heeding_signals():
        with suppress(KeyboardInterrupt):  # as Python does around a fork
            signal.raise_signal(number)
        with pytest.raises(KeyboardInterrupt):
            Shell(NOWHERE).run("true")


def test_without_a_signal_nothing_is_heeded() -> None:
    check_interrupted()
    with heeding_signals():
        check_interrupted()


def test_what_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with heeding_signals():
            signal.raise_signal(signal.SIGHUP)
            check_interrupted()
    finally:
        signal.signal(signal.SIGHUP, before)
