import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mtp.core.history import Key, Metric, Point, Series, Value
from pytest_mtp.core.history_verdict import Acknowledgement, HistoryVerdict
from pytest_mtp.core.nightly import judge_history
from pytest_mtp.errors import MtpError


def key(metric: Metric = Metric.SPEEDUP, name: str = "code") -> Key:
    return Key("phantom", "n3", name, metric.value)


def series(
    values: Sequence[float], metric: Metric = Metric.SPEEDUP, name: str = "code", driver_at: int = 999
) -> Series:
    """One value a night; the first is night 1, the nights from ``driver_at`` on have another driver."""
    return Series(key(metric, name), tuple(_point(night, one, driver_at) for night, one in enumerate(values, start=1)))


def _point(night: int, value: float, driver_at: int = 999) -> Point:
    driver = "2" if night >= driver_at else "1"
    return Point(
        run=f"night-{night:03}",
        at=f"{night:03}",
        build=f"b{night}",
        value=Value(value),
        segment=driver,
        facts={"driver": driver},
    )


def noisy(count: int, level: float = 1.5, sd: float = 0.01, seed: int = 1) -> list[float]:
    return [float(one) for one in level * np.exp(np.random.default_rng(seed).normal(0, sd, count))]


def tonight(
    *history: Series, acknowledged: Sequence[Acknowledgement] = (), family: int | None = None
) -> HistoryVerdict:
    newest = max((point for one in history for point in one.points), key=lambda point: point.at)
    return judge_history(history, newest.run, acknowledged, family=family)


def looked_at(run: str, pattern: str = "phantom/n3/code/speedup") -> Acknowledgement:
    return Acknowledgement(series=pattern, run=run, reason="known", who="Ada")


# ------------------------------------------------------------------------------------------------ what is red


def test_a_history_without_change_is_not_red() -> None:
    verdict = tonight(series(noisy(60)))

    assert not verdict.red
    assert verdict == HistoryVerdict(run="night-060")


def test_a_lower_level_is_red_with_from_what_to_what_since_when_and_the_last_good_build() -> None:
    verdict = tonight(series([3.0] * 20 + [2.5] * 3, Metric.TAU))

    assert verdict.reasons == (
        "phantom/n3/code/tau fell by 16.7 % from 3 to 2.5, since run night-021 of build b21 and for 3 runs; "
        "the last good build is b20 (run night-020).",
    )


@pytest.mark.parametrize("metric", Metric)
def test_a_loss_is_a_rise_of_a_cost_and_a_fall_of_all_else(metric: Metric) -> None:
    rising = tonight(series(noisy(30) + noisy(5, 1.6, seed=2), metric))
    falling = tonight(series(noisy(30) + noisy(5, 1.4, seed=2), metric))

    assert (rising.red, falling.red) == (metric.more_is_worse, not metric.more_is_worse)


def test_a_gain_is_a_notice_and_not_red() -> None:
    verdict = tonight(series([2.5] * 20 + [3.0] * 3, Metric.TAU))

    assert not verdict.red
    assert verdict.notices == (
        "phantom/n3/code/tau rose by 20.0 % from 2.5 to 3, a gain, since run night-021 of build b21; "
        "record a new baseline, or acknowledge it as the new level.",
    )


def test_one_bad_night_is_a_surprise_and_not_yet_red() -> None:
    verdict = tonight(series([*noisy(30), 1.2]))

    assert not verdict.red
    assert verdict.changes == ()
    (surprise,) = verdict.surprises
    assert (surprise.run, surprise.build, surprise.loss, surprise.recurs) == ("night-031", "b31", True, False)
    assert surprise.value == 1.2
    assert 1.2 < surprise.low < surprise.mean < surprise.high


def test_a_bad_night_followed_by_a_good_one_is_no_surprise_any_more() -> None:
    verdict = tonight(series([*noisy(30), 1.2, 1.5]))

    assert (verdict.red, verdict.surprises) == (False, ())


def test_a_night_as_good_as_it_was_bad_before_is_no_recurrence() -> None:
    verdict = tonight(series([*noisy(30), 1.2, 1.8]))

    assert not verdict.red
    assert [one.recurs for one in verdict.surprises] == [False]


def test_a_second_bad_night_is_red_before_the_change_of_level_is_proven() -> None:
    before = noisy(9, seed=2)
    verdict = tonight(series([*before, 1.43, 1.42]), family=15)

    assert verdict.changes == ()
    assert [one.recurs for one in verdict.surprises] == [True]
    (reason,) = verdict.reasons
    assert reason.startswith("phantom/n3/code/speedup is 1.42x, the run before 1.43x, outside of 1.")
    assert reason.endswith(
        "since run night-010 of build b10 and for 2 runs; the last good build is b9 (run night-009)."
    )


def test_a_loss_that_recurs_stays_red_in_the_nights_after() -> None:
    before = noisy(9, seed=2)
    verdicts = [tonight(series([*before, *[1.43, 1.42, 1.43, 1.42][:nights]]), family=15) for nights in (2, 3, 4)]

    assert [one.red for one in verdicts] == [True, True, True]


def test_a_bad_night_long_ago_is_no_level_and_hides_no_loss() -> None:
    quiet = [*noisy(20), 1.2, *noisy(20, seed=2)]

    before, once, twice = (tonight(series([*quiet, *bad])) for bad in ([], [1.43], [1.43, 1.42]))

    assert (before.changes, before.surprises, before.red) == ((), (), False)
    assert (len(once.surprises), once.red) == (1, False)
    assert twice.red


def test_a_bad_night_just_before_a_loss_is_not_the_last_good_build() -> None:
    (change,) = tonight(series([3.0] * 20 + [3.5] + [2.5] * 4, Metric.TAU)).changes

    assert (change.last_run, change.run) == ("night-020", "night-022")


def test_two_surprising_gains_are_not_red() -> None:
    before = noisy(9, seed=2)
    verdict = tonight(series([*before, 1.60, 1.61]), family=63)

    assert [one.recurs for one in verdict.surprises] == [True]
    assert not verdict.red


def test_seven_runs_are_too_few_to_be_surprised() -> None:
    seven, eight = (tonight(series([*noisy(count), 1.2])) for count in (7, 8))

    assert (len(seven.surprises), len(eight.surprises)) == (0, 1)


def test_noise_of_long_ago_hides_no_surprise() -> None:
    calm = [*noisy(100, sd=0.04), *noisy(70, sd=0.005, seed=2)]

    assert len(tonight(series([*calm, 1.44])).surprises) == 1


def test_a_loss_that_was_made_good_is_silent() -> None:
    verdict = tonight(series(noisy(30) + noisy(10, 1.4, seed=2) + noisy(10, seed=3)))

    assert [one.loss for one in verdict.changes] == [True, False]
    assert not verdict.red


def test_a_loss_that_was_made_good_by_half_is_red_and_says_where_it_is_now() -> None:
    verdict = tonight(series([3.0] * 20 + [2.4] * 10 + [2.7] * 10, Metric.TAU))

    (reason,) = verdict.reasons
    assert "from 3 to 2.4 (now 2.7), since run night-021" in reason


def test_later_runs_count_for_nothing() -> None:
    whole = series([3.0] * 20 + [2.5] * 20, Metric.TAU)

    assert [judge_history((whole,), f"night-0{night}").red for night in (20, 21, 22)] == [False, False, True]


# ------------------------------------------------------------------------------- constant series, odd numbers


@pytest.mark.parametrize("metric", [Metric.TAU, Metric.MEMORY])
@pytest.mark.parametrize(
    ("worse", "nights", "red"), [(0.015, 2, False), (0.015, 9, False), (0.03, 1, False), (0.03, 2, True)]
)
def test_a_constant_series_is_red_when_a_loss_beyond_two_percent_holds_two_nights(
    metric: Metric,
    worse: float,
    nights: int,
    red: bool,  # noqa: FBT001
) -> None:
    level = 3e9 if metric is Metric.MEMORY else 3.0
    factor = 1 + worse if metric.more_is_worse else 1 - worse

    assert tonight(series([level] * 12 + [level * factor] * nights, metric)).red is red


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(Metric),
    st.lists(st.sampled_from([1.0, 1e-9, 3.0000000001, 2.5e10]) | st.floats(0.1, 10), min_size=1, max_size=70),
    st.integers(0, 40),
)
def test_any_positive_series_is_judged_without_a_warning(metric: Metric, values: list[float], same: int) -> None:
    verdict = tonight(series(values[:1] * same + values, metric))

    assert verdict.run == f"night-{same + len(values):03}"


@pytest.mark.parametrize("odd", [0.0, float("nan"), float("inf"), -1.0])
def test_what_is_no_positive_number_is_no_night(odd: float) -> None:
    verdict = tonight(series([3.0] * 12 + [odd] * 3 + [2.5] * 2, Metric.TAU))

    (change,) = verdict.changes
    assert (change.last_run, change.run, change.runs_after) == ("night-012", "night-016", 2)


def test_a_change_is_made_of_plain_numbers() -> None:
    (change,) = tonight(series(noisy(30) + noisy(5, 1.4, seed=2))).changes

    assert {type(one) for one in (change.before, change.after, change.p)} == {float}
    assert change.runs_after == 5


# ----------------------------------------------------------------------------------------- the whole family


def test_a_weak_loss_is_red_alone_and_not_among_many_series() -> None:
    weak = series(noisy(20, sd=0.015, seed=3) + noisy(3, 1.41, sd=0.015, seed=53))
    others = [series([2.0] * 23, Metric.TAU, f"class{one}") for one in range(62)]

    assert tonight(weak).red
    assert not tonight(weak, *others).red


def test_series_that_the_run_did_not_measure_do_not_share_the_chance() -> None:
    weak = series(noisy(20, sd=0.015, seed=3) + noisy(3, 1.41, sd=0.015, seed=53))
    others = [series([2.0] * 10, Metric.TAU, f"class{one}") for one in range(62)]

    assert tonight(weak, *others).red


def test_fewer_accepted_drafts_in_a_class_that_is_as_fast_as_it_was_are_a_notice() -> None:
    tau, speed = series([3.0] * 20 + [2.5] * 3, Metric.TAU), series([1.5] * 23)

    verdict = tonight(tau, speed)

    assert not verdict.red
    (notice,) = verdict.notices
    assert notice.startswith("phantom/n3/code/tau fell by 16.7 %")
    assert notice.endswith("No loss: its class is as fast as it was.")
    assert len(tonight(tau, series([1.5] * 20 + [1.2] * 3)).reasons) == 2


def test_every_loss_has_its_own_reason() -> None:
    lower = [3.0] * 20 + [2.5] * 3

    verdict = tonight(
        series(lower, Metric.TAU), series(lower, Metric.TAU, "chat"), series([3.0] * 23, Metric.SPEEDUP, "story")
    )

    assert [one.split(" ")[0] for one in verdict.reasons] == ["phantom/n3/code/tau", "phantom/n3/chat/tau"]


def test_the_changes_of_all_series_are_told_oldest_first() -> None:
    late, early = ([3.0] * nights + [2.5] * (40 - nights) for nights in (30, 20))

    verdict = tonight(series(late, Metric.TAU, "a"), series(early, Metric.TAU, "b"))

    assert [one.run for one in verdict.changes] == ["night-021", "night-031"]


# ----------------------------------------------------------------------------------------- acknowledgements


@pytest.mark.parametrize("pattern", ["phantom/n3/code/mtp tok/s", "phantom/n3/*/mtp tok/s", "*/*/*/*"])
@pytest.mark.parametrize("run", ["night-031", "night-033", "night-029"])
def test_an_acknowledged_change_is_silent_also_from_a_run_beside_it(pattern: str, run: str) -> None:
    known = looked_at(run, pattern)
    verdict = tonight(series(noisy(30, 60.0) + noisy(20, 54.0, seed=2), Metric.MTP_TPS), acknowledged=[known])

    assert not verdict.red
    assert [one.acknowledged for one in verdict.changes] == [known]
    assert verdict.notices == ()


@pytest.mark.parametrize("pattern", ["phantom/n3/chat/speedup", "phantom/*", "phantom/n3/code/speed*", "*"])
def test_an_acknowledgement_of_another_series_silences_nothing(pattern: str) -> None:
    verdict = tonight(series(noisy(30) + noisy(20, 1.4, seed=2)), acknowledged=[looked_at("night-031", pattern)])

    assert verdict.red


def test_of_two_acknowledgements_near_a_change_the_nearer_one_means_it() -> None:
    near, beside = looked_at("night-031"), looked_at("night-033")

    verdict = tonight(series(noisy(30) + noisy(20, 1.4, seed=2)), acknowledged=[near, beside])

    assert [one.acknowledged for one in verdict.changes] == [near]


def test_a_loss_after_an_acknowledged_one_is_red_again() -> None:
    nights = noisy(30) + noisy(20, 1.4, seed=2) + noisy(5, 1.3, seed=3)

    verdict = tonight(series(nights), acknowledged=[looked_at("night-031")])

    (reason,) = verdict.reasons
    assert "since run night-051" in reason


def test_a_further_loss_soon_after_an_acknowledged_one_is_red() -> None:
    nights = noisy(30) + noisy(4, 1.4, seed=2) + noisy(6, 1.25, seed=3)

    verdict = tonight(series(nights), acknowledged=[looked_at("night-031")])

    assert len(verdict.reasons) == 1


def test_an_older_acknowledgement_says_nothing_of_a_newer_loss() -> None:
    nights = noisy(30) + noisy(20, 1.4, seed=2)

    assert tonight(series(nights), acknowledged=[looked_at("night-010")]).red


def test_a_surprise_can_be_acknowledged_before_it_is_a_change() -> None:
    nights = [*noisy(9, seed=2), 1.43, 1.42]

    assert not tonight(series(nights), acknowledged=[looked_at("night-010")], family=63).red


def test_an_acknowledged_gain_is_no_notice_any_more() -> None:
    verdict = tonight(series(noisy(30) + noisy(20, 1.6, seed=2)), acknowledged=[looked_at("night-031")])

    assert (verdict.red, verdict.notices) == (False, ())


def test_an_acknowledgement_of_nothing_is_a_notice() -> None:
    verdict = tonight(series(noisy(30)), acknowledged=[looked_at("night-999")])

    assert verdict.notices == (
        "The acknowledgement of phantom/n3/code/speedup in run night-999 names no run of a series; "
        "correct or remove it.",
    )


def test_an_acknowledgement_of_a_later_run_than_the_one_judged_is_no_mistake() -> None:
    verdict = judge_history((series(noisy(30)),), "night-020", [looked_at("night-025")])

    assert verdict.notices == ()


# -------------------------------------------------------------------------------- what cannot be judged (yet)


def test_another_driver_begins_anew_and_is_a_notice_only() -> None:
    nights = noisy(40) + noisy(3, 1.2, seed=2)

    verdict = tonight(series(nights, driver_at=41), series(nights, name="chat", driver_at=41))

    assert (verdict.red, verdict.changes, verdict.surprises) == (False, (), ())
    assert verdict.notices == (
        "phantom/n3/code/speedup and phantom/n3/chat/speedup: 3 runs so far, since run night-041 had other "
        "circumstances (driver was 1, is 2); judged from 10 runs on.",
    )


def test_a_loss_under_the_former_driver_is_reported_and_not_red() -> None:
    verdict = tonight(series([3.0] * 20 + [2.5] * 20 + [2.5] * 12, Metric.TAU, driver_at=41))

    assert [one.run for one in verdict.changes] == ["night-021"]
    assert not verdict.red


def test_a_young_history_says_how_many_runs_it_has() -> None:
    verdict = tonight(series([1.5]))

    assert verdict.notices == ("phantom/n3/code/speedup: 1 run so far; judged from 10 runs on.",)


def test_many_young_series_are_counted() -> None:
    verdict = tonight(*(series([1.5], name=f"class{one}") for one in range(5)))

    assert verdict.notices == ("phantom/n3/class0/speedup and 4 more series: 1 run so far; judged from 10 runs on.",)


def test_imported_points_are_never_judged() -> None:
    whole = series([3.0] * 20 + [2.5] * 10, Metric.TAU)
    foreign = tuple(replace(point, imported_from="another tool") for point in whole.points)

    alone = tonight(Series(whole.key, foreign))
    mixed = tonight(Series(whole.key, (*foreign[:20], *whole.points[20:])))

    assert alone == HistoryVerdict(run="night-030", notices=("Run night-030 measured nothing that has a history.",))
    assert (mixed.red, mixed.changes) == (False, ())


def test_a_class_without_a_value_tonight_is_a_notice() -> None:
    verdict = tonight(series([3.0] * 20, Metric.TAU), series([3.0] * 19, Metric.TAU, "chat"))

    assert verdict.notices == ("phantom/n3/chat/tau: no valid measurement in run night-020, so not judged.",)


def test_a_class_that_was_dropped_long_ago_is_no_notice() -> None:
    verdict = tonight(series([3.0] * 20, Metric.TAU), series([3.0] * 12, Metric.TAU, "chat"))

    assert verdict.notices == ()


def test_an_unknown_run_is_a_notice() -> None:
    verdict = judge_history((series(noisy(30)),), "night-031")

    assert verdict.notices == ("Run night-031 measured nothing that has a history.",)


def test_without_otava_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "otava.analysis", None)

    with pytest.raises(MtpError, match=r"pip install 'pytest-mtp\[nightly\]'"):
        tonight(series([1.5]))
