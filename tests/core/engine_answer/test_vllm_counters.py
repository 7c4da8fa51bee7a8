"""vLLM's counters, as its Prometheus client prints them."""

import pytest

from pytest_mtp.core.engine_answer.drafts import Drafts, no_drafts
from pytest_mtp.core.engine_answer.vllm import VllmCounters, between, vllm_counters
from pytest_mtp.errors import MeasureError

OFF = """\
# HELP vllm:generation_tokens_total Number of generation tokens processed.
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="org/m"} 100.0
# HELP vllm:generation_tokens_created Number of generation tokens processed.
# TYPE vllm:generation_tokens_created gauge
vllm:generation_tokens_created{engine="0",model_name="org/m"} 1.7e+09
"""


def printed(tokens: int, drafts: int, drafted: int, accepted: int, places: tuple[int, ...]) -> str:
    """As two engines print it."""
    families = {"generation_tokens": tokens, "spec_decode_num_drafts": drafts}
    families |= {"spec_decode_num_draft_tokens": drafted, "spec_decode_num_accepted_tokens": accepted}
    lines = []
    for name, value in families.items():
        lines += [f"# HELP vllm:{name}_total x", f"# TYPE vllm:{name}_total counter"]
        lines += [
            f'vllm:{name}_total{{engine="{one}",model_name="m"}} {value // 2 + value % 2 * one}' for one in (0, 1)
        ]
        lines += [f"# TYPE vllm:{name}_created gauge", f'vllm:{name}_created{{engine="0",model_name="m"}} 1.7e+09']
    name = "vllm:spec_decode_num_accepted_tokens_per_pos"
    lines += [f"# TYPE {name}_total counter"]
    lines += [
        f'{name}_total{{engine="{one}",model_name="m",position="{place}"}} {value // 2 + value % 2 * one}'
        for place, value in enumerate(places)
        for one in (0, 1)
    ]
    return "\n".join(lines) + "\n"


BEFORE = vllm_counters(printed(100, 20, 60, 30, (14, 10, 6)))
# 22 tokens: 9 steps of 3 drafts, 15 accepted, 3 of them beyond the end.
AFTER = vllm_counters(printed(122, 29, 87, 45, (21, 15, 9)))


def test_labels_are_added_up_and_dates_are_no_counters() -> None:
    assert BEFORE.tokens == 100
    assert BEFORE.speculated is not None
    assert (BEFORE.speculated.drafts, BEFORE.speculated.per_position) == (20, (14, 10, 6))


def test_the_counters_of_speculation_are_its_proof() -> None:
    assert BEFORE.speculative is True
    assert vllm_counters(OFF) == VllmCounters(100, None)
    assert vllm_counters(OFF).speculative is False
    assert vllm_counters("# TYPE python_info gauge\npython_info 1.0\n").speculative is None


def test_what_lies_between_two_readings_is_one_answers() -> None:
    assert between(BEFORE, AFTER, 22) == Drafts(steps=9, drafted=27, accepted=12, per_position=(7, 5, 3))


@pytest.mark.parametrize(
    ("before", "after", "tokens", "cause"),
    [
        (AFTER, BEFORE, 22, r"went back while the request ran: the server was started anew"),
        (BEFORE, VllmCounters(122, None), 22, r"went back"),
        (BEFORE, AFTER, 21, r"counted 22 tokens while it made the 21 .* another client"),
        (BEFORE, AFTER, 23, r"counted 22 tokens while it made the 23 of this answer: it was started anew"),
        (VllmCounters(None, BEFORE.speculated), AFTER, 9, r"9 steps of verifying were counted for 9 tokens"),
    ],
)
def test_readings_that_are_not_one_answers_say_why(
    before: VllmCounters, after: VllmCounters, tokens: int, cause: str
) -> None:
    with pytest.raises(MeasureError, match=cause):
        between(before, after, tokens)


def test_what_is_no_prometheus_text_is_named() -> None:
    with pytest.raises(MeasureError, match="/metrics is no Prometheus text"):
        vllm_counters("<html>")


def test_a_plain_server_made_a_token_per_step_and_for_nobody_else() -> None:
    before = vllm_counters(OFF)
    assert between(before, VllmCounters(122, None), 22) == no_drafts(22)
    with pytest.raises(MeasureError, match=r"counted 29 tokens while it made the 22 .* another client"):
        between(before, VllmCounters(129, None), 22)
    for lost in (VllmCounters(None, None), AFTER):
        with pytest.raises(MeasureError, match="went back"):
            between(before, lost, 22)
