import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtp.core.request import Request, parse_answer
from pytest_mtp.core.timings import Timings, parse_timings
from pytest_mtp.errors import MeasureError

# As a real server said it, the derived rates included.
SAID: dict[str, object] = {
    "cache_n": 0,
    "prompt_n": 12,
    "prompt_ms": 24.0,
    "prompt_per_token_ms": 2.0,
    "prompt_per_second": 500.0,
    "predicted_n": 64,
    "predicted_ms": 163.857,
    "predicted_per_token_ms": 2.6,
    "predicted_per_second": 999999.0,
    "draft_n": 61,
    "draft_n_accepted": 42,
}


def test_rates_count_generated_tokens_without_the_free_first_one() -> None:
    timings = parse_timings(SAID)
    assert timings.tps == pytest.approx(63 / 0.163857)
    assert timings.ms_per_token == pytest.approx(163.857 / 63)
    assert timings.prompt_tps == pytest.approx(500)


def test_tau_is_tokens_per_step_of_the_mtp_arm() -> None:
    timings = parse_timings(SAID)
    assert (timings.steps, timings.tau, timings.drafted) == (21, 3.0, True)


def test_absent_draft_counts_mean_that_nothing_was_drafted() -> None:
    timings = parse_timings({key: SAID[key] for key in ("prompt_n", "prompt_ms", "predicted_n", "predicted_ms")})
    assert (timings.draft_n, timings.draft_n_accepted, timings.cache_n, timings.drafted) == (0, 0, 0, False)
    assert timings.tau == 1


@pytest.mark.parametrize("field", ["prompt_n", "prompt_ms", "predicted_n", "predicted_ms"])
def test_a_missing_field_is_named(field: str) -> None:
    with pytest.raises(MeasureError, match=rf"timings\.{field} .*is missing"):
        parse_timings({key: value for key, value in SAID.items() if key != field})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("predicted_n", 64.0),
        ("predicted_n", True),
        ("predicted_n", -1),
        ("predicted_n", None),
        ("predicted_ms", math.nan),
        ("predicted_ms", math.inf),
        ("predicted_ms", -0.1),
        ("predicted_ms", "163"),
        ("predicted_ms", 10**400),
        ("predicted_ms", [[[]]]),
        ("prompt_n", 2**31),
        ("prompt_ms", True),
        ("cache_n", None),
        ("draft_n", 1.5),
    ],
)
def test_a_wrong_value_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(MeasureError, match=rf"timings\.{field} "):
        parse_timings({**SAID, field: value})


def test_more_accepted_than_drafted_is_refused() -> None:
    with pytest.raises(MeasureError, match="draft_n_accepted is 62, above draft_n 61"):
        parse_timings({**SAID, "draft_n_accepted": 62})


@pytest.mark.parametrize("tokens", [0, 1])
@pytest.mark.parametrize("rate", ["tps", "tau", "steps", "ms_per_token"])
def test_fewer_than_two_tokens_have_no_rate(tokens: int, rate: str) -> None:
    timings = parse_timings({**SAID, "predicted_n": tokens, "draft_n": 0, "draft_n_accepted": 0})
    with pytest.raises(MeasureError, match="at least 2"):
        getattr(timings, rate)


@pytest.mark.parametrize(
    ("field", "rate"), [("predicted_ms", "tps"), ("predicted_ms", "ms_per_token"), ("prompt_ms", "prompt_tps")]
)
def test_no_time_has_no_rate(field: str, rate: str) -> None:
    timings = parse_timings({**SAID, field: 0})
    with pytest.raises(MeasureError, match=rf"timings\.{field} is 0"):
        getattr(timings, rate)


def test_tokens_that_are_all_accepted_drafts_leave_no_step() -> None:
    timings = parse_timings({**SAID, "predicted_n": 43})
    with pytest.raises(MeasureError, match="no step"):
        timings.tau  # noqa: B018 - the property raises


@given(
    st.builds(
        Timings,
        prompt_n=st.integers(0, 10**6),
        prompt_ms=st.floats(0, 1e9),
        predicted_n=st.integers(0, 10**6),
        predicted_ms=st.floats(0, 1e9),
        cache_n=st.integers(0, 10**6),
        draft_n=st.integers(100, 10**6),
        draft_n_accepted=st.integers(0, 100),
    )
)
def test_stored_timings_read_back_the_same(timings: Timings) -> None:
    assert parse_timings(timings.as_json()) == timings


def test_a_request_is_greedy_seeded_whole_and_uncached() -> None:
    assert Request(prompt="Hi", n_predict=8, seed=7).as_json() == {
        "prompt": "Hi",
        "n_predict": 8,
        "temperature": 0.0,
        "seed": 7,
        "ignore_eos": True,
        "cache_prompt": False,
        "stream": False,
    }


def test_a_sampled_request_leaves_the_temperature_to_the_server() -> None:
    assert "temperature" not in Request(prompt="Hi", n_predict=8, temperature=None).as_json()


@pytest.mark.parametrize(
    ("doc", "wall_ms", "cause"),
    [
        ({"content": "x"}, 1.0, r"no timings.*its fields: content"),
        ({"timings": SAID}, 1.0, "content"),
        ({"timings": SAID, "content": "x", "stop_type": 3}, 1.0, "stop_type"),
        ({"timings": SAID, "content": "x"}, math.nan, "clock"),
        ({"timings": SAID, "content": "half a pair \ud800"}, 1.0, "is no text"),
    ],
)
def test_an_answer_that_lacks_something_is_refused(doc: dict[str, object], wall_ms: float, cause: str) -> None:
    with pytest.raises(MeasureError, match=cause):
        parse_answer(doc, wall_ms)
