"""When the arrivals of tokens carry no time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtp.core.engine_answer.arriving import refuse_lumps
from pytest_mtp.errors import MeasureError


def refused(came: list[float], tokens: int) -> bool:
    try:
        refuse_lumps(came, tokens)
    except MeasureError:
        return True
    return False


@given(st.lists(st.integers(1, 8), min_size=1, max_size=200), st.floats(1, 100))
def test_no_engine_is_refused_whose_steps_take_a_millisecond(steps: list[int], step_ms: float) -> None:
    came = [50.0] + [50 + (place + 1) * step_ms for place, tokens in enumerate(steps) for _ in range(tokens)]
    assert not refused(came, len(came))


@given(st.integers(22, 400), st.floats(0, 1000))
def test_an_answer_in_one_lump_is_refused(tokens: int, at_ms: float) -> None:
    with pytest.raises(MeasureError, match=r"buffers it, .* proxy_buffering off"):
        refuse_lumps([at_ms + place * 1e-3 for place in range(tokens)], tokens)


def test_a_first_lump_hides_when_the_first_token_was_made() -> None:
    came = [100.0 * (place // 40 + 1) for place in range(192)]
    with pytest.raises(MeasureError, match="With the first token came about 39 of 192 within 2 ms"):
        refuse_lumps(came, 192)


def test_a_lump_after_the_first_token_hides_the_gaps() -> None:
    with pytest.raises(MeasureError, match="Most of the stream, about 191 of 192 tokens, came in one lump"):
        refuse_lumps([100.0] + [900.0] * 191, 192)


def test_chunks_stand_for_the_tokens_in_them() -> None:
    with pytest.raises(MeasureError, match="about 191 of 192"):
        refuse_lumps([100.0] * 32, 192)
