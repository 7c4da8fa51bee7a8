"""A box is silent when its heart does not beat, not when a clock jumps."""

from itertools import count

from pytest_mtp.runtime.fleet.heartbeat import Heartbeats


def test_silence_is_counted_from_the_last_change_by_a_clock_that_does_not_jump() -> None:
    hearts = Heartbeats(clock=map(float, count(100, 7)).__next__)
    # Three heartbeats, the second after the clock of the scheduler was set an hour ahead, then silence.
    stamps = (1.0, 3602.0, 3603.0, 3603.0, 3603.0)
    told = [hearts.silences([{"address": "a", "last_seen": one}])["a"] for one in stamps]
    assert told == [0.0, 0.0, 0.0, 7.0, 14.0]


def test_a_box_that_comes_again_is_not_silent() -> None:
    hearts = Heartbeats(clock=map(float, count(100, 60)).__next__)
    box = {"address": "a", "last_seen": 1.0}
    hearts.silences([box])
    hearts.silences([])
    assert hearts.silences([box]) == {"a": 0.0}
