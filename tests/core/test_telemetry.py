"""What the readings of a start come to, by arithmetic that a reader can check."""

from dataclasses import replace

import msgspec
import pytest

from pytest_mtp.core.card import CardProcess
from pytest_mtp.core.telemetry import (
    KEPT_READINGS,
    OPTIONAL_READINGS,
    Level,
    Reading,
    Telemetry,
    TelemetrySource,
    Throttle,
    combined,
    telemetry,
    thinned,
)

FIRST = tuple(Reading(t_s=t, power_w=p, sm_clock_mhz=c) for t, p, c in [(0, 100, 300), (1, 300, 1700), (2, 100, 300)])
SECOND = tuple(
    Reading(t_s=t, power_w=p, sm_clock_mhz=c) for t, p, c in [(9, 100, 300), (10, 300, 1500), (11, 100, 300)]
)


def seen(*requests: tuple[Reading, ...]) -> Telemetry:
    return telemetry(TelemetrySource.NVML, requests)


def test_speeds_are_read_inside_requests_and_never_at_their_idle_edges() -> None:
    told = seen(FIRST, SECOND)
    assert (told.looks, told.sm_clock_mhz, told.sm_clock_low_mhz, told.power_w) == (2, 1600, 1500, 300)


def test_energy_is_power_over_the_time_of_the_requests_alone() -> None:
    assert seen(FIRST, SECOND).energy_j == pytest.approx(400 + 400)


def test_the_cards_own_counter_is_preferred() -> None:
    counted = tuple(replace(one, energy_counter_j=5000 + 123 * one.t_s) for one in FIRST)
    assert seen(counted).energy_j == pytest.approx(246)


def test_energy_that_one_request_lacks_is_not_told() -> None:
    assert seen(FIRST, (Reading(), Reading())).energy_j is None


def test_amounts_are_kept_at_their_start_their_peak_and_their_end() -> None:
    told = seen(tuple(Reading(memory_used_bytes=used, rss_bytes=used * 2) for used in (5, 9, 7)))
    assert told.memory_bytes == Level(5, 9, 7)
    assert told.rss_bytes == Level(10, 18, 14)
    assert told.gtt_bytes is None


def test_a_reason_to_throttle_counts_by_its_share_of_the_readings_that_tell_reasons() -> None:
    reasons = [{Throttle.IDLE}, {Throttle.POWER_CAP}, None, set(), {Throttle.POWER_CAP}, set(), set()]
    told = seen(tuple(Reading(throttle=None if one is None else frozenset(one)) for one in reasons))
    assert told.throttle == {"power cap": 0.5}
    assert told.held_back(Throttle.POWER_CAP) == 0.5
    assert told.held_back(Throttle.THERMAL) == 0


def test_requests_too_short_for_a_look_inside_still_tell_reasons() -> None:
    hot = Reading(throttle=frozenset({Throttle.THERMAL}))
    assert seen((hot, hot)).held_back(Throttle.THERMAL) == 1


def test_a_foreign_process_is_named_once_however_often_it_is_seen() -> None:
    growing = [CardProcess(7, "python", 10), CardProcess(7, "python", 20)]
    assert seen(tuple(Reading(foreign=(one,)) for one in growing)).foreign == (CardProcess(7, "python", 20),)


def test_what_no_reading_tells_is_lacking() -> None:
    assert set(OPTIONAL_READINGS) - set(seen(FIRST).lacking) == {"power_w", "sm_clock_mhz"}
    assert seen().lacking == OPTIONAL_READINGS


@pytest.mark.parametrize("count", [0, 1, KEPT_READINGS, KEPT_READINGS + 1, 5000])
def test_few_readings_are_kept_of_many_with_the_first_and_the_last(count: int) -> None:
    readings = tuple(Reading(t_s=place) for place in range(count))
    kept = thinned(readings)
    assert len(kept) == min(count, KEPT_READINGS)
    assert [kept[0], kept[-1]] == [readings[0], readings[-1]] if count else kept == ()
    assert sorted(set(kept), key=lambda one: one.t_s) == list(kept)


def test_several_cards_add_up_and_the_slowest_and_the_hottest_stand_for_all() -> None:
    one = Reading(
        temperature_c=50, power_w=100, sm_clock_mhz=1700, memory_used_bytes=3, throttle=frozenset(), foreign=()
    )
    other = Reading(
        temperature_c=70, power_w=200, sm_clock_mhz=1500, throttle=frozenset({Throttle.THERMAL}), foreign=()
    )
    both = combined([one, other])
    assert (both.temperature_c, both.power_w, both.sm_clock_mhz) == (70, 300, 1500)
    assert both.throttle == frozenset({Throttle.THERMAL})
    assert both.memory_used_bytes is None
    assert combined([one]) is one
    assert combined([]) == Reading()


def test_telemetry_survives_json() -> None:
    told = seen(
        tuple(replace(one, throttle=frozenset({Throttle.POWER_CAP}), foreign=(CardProcess(7),)) for one in FIRST)
    )
    assert msgspec.json.decode(msgspec.json.encode(told), type=Telemetry) == told
