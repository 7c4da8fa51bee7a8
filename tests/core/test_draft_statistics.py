import math
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mtp.core.draft_statistics import draft_statistics, drafting_cost, drafting_ms
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.server_spec import Arm
from tests.campaigns import PLAIN_MS, TOKENS, around, campaign

DATA = Path(__file__).parent / "data" / "draft_statistics"


def tail(build: str) -> str:
    """The last 20 lines of a real server's log."""
    return (DATA / f"{build}.txt").read_text()


def logging(text: str) -> Campaign:
    """A campaign of four blocks whose mtp arm left this log."""
    made = campaign({"a": around(1.5, 0.01)})
    starts = [
        tuple(replace(one, log_tail=text if one.arm is Arm.MTP else "") for one in block.starts)
        for block in made.blocks
    ]
    blocks = tuple(replace(block, starts=told) for block, told in zip(made.blocks, starts, strict=True))
    return replace(made, blocks=blocks)


# Six requests of 64 tokens each; with b11434 accepted by chance.
@pytest.mark.parametrize(
    ("build", "calls", "tokens", "accepted", "draft_ms"),
    [
        ("b9246", 108, 315, 270, 21.210),
        ("b10405", 108, 315, 270, 23.943),
        ("b11434", 126, 366, 252, 31.504),
    ],
)
def test_every_build_since_mtp_tells_its_drafting_time(
    build: str, calls: int, tokens: int, accepted: int, draft_ms: float
) -> None:
    found = draft_statistics(tail(build))
    assert found is not None
    assert (found.calls, found.tokens, found.accepted_tokens, found.draft_ms) == (calls, tokens, accepted, draft_ms)
    assert found.step_ms == pytest.approx(draft_ms / calls)


def line(calls: int, draft_ms: float) -> str:
    """A line as the server writes it, by its own format."""
    return (
        f"statistics        draft-mtp: #calls(b,g,a) = {1:4} {calls:6} {calls:6}, #gen drafts = {calls:6}, "
        f"#acc drafts = {0:5}, #gen tokens = {3 * calls:6}, #acc tokens = {0:5}, "
        f"dur(b,g,a) = 0.1, {draft_ms:.3f}, 0.1 ms\n"
    )


def test_requests_that_were_disturbed_are_forgotten() -> None:
    # Steps of 1 ms; the first request, which warms up, and the fourth, which a neighbour held up, took 5 ms each.
    log = line(10, 50) + line(20, 60) + line(30, 70) + line(40, 120) + line(50, 130) + line(60, 140)
    assert drafting_ms(log) == pytest.approx(1.0)


def test_of_a_single_request_there_is_only_the_mean() -> None:
    assert drafting_ms(line(10, 50)) == pytest.approx(5.0)
    assert drafting_ms(tail("b9246")) == pytest.approx(21.210 / 108)


def test_whole_logs_win_over_the_end_that_was_kept() -> None:
    told = (1.0, 1.0, 1.0, 1.0)
    cost = drafting_cost(logging(tail("b9246")), told)
    assert [math.exp(log) * PLAIN_MS / (TOKENS - 1) for log in cost.logs] == pytest.approx(told)
    kept = drafting_cost(logging(tail("b9246")), (1.0, None, 1.0, 1.0))
    assert math.exp(kept.logs[1]) * PLAIN_MS / (TOKENS - 1) == pytest.approx(21.210 / 108)


def test_the_last_line_counts_since_they_add_up() -> None:
    later = tail("b10405").replace("108    108", "999    999")
    found = draft_statistics(tail("b10405") + later)
    assert found is not None
    assert found.calls == 999


@pytest.mark.parametrize(
    "text",
    ["", "draft acceptance = 0.8", "statistics        ngram-mod: " + tail("b9246").split("draft-mtp: ")[1]],
)
def test_a_log_without_the_head_tells_nothing(text: str) -> None:
    assert draft_statistics(text) is None
    assert drafting_cost(logging(text)).blocks == 0


def test_a_head_that_was_never_asked_took_no_time() -> None:
    idle = "statistics draft-mtp: #calls(b,g,a) =    1      0      0, #gen drafts =      0, #acc drafts =     0, "
    idle += "#gen tokens =      0, #acc tokens =     0, dur(b,g,a) = 0.001, 0.000, 0.000 ms"
    found = draft_statistics(idle)
    assert found is not None
    assert math.isnan(found.step_ms)
    assert drafting_cost(logging(idle)).blocks == 0


def test_drafting_is_weighed_against_the_plain_step_of_its_block() -> None:
    # The plain arm of these campaigns takes 960 ms for 96 steps.
    cost = drafting_cost(logging(tail("b9246")))
    assert cost.blocks == 4
    assert cost.ratio == pytest.approx(21.210 / 108 / (PLAIN_MS / (TOKENS - 1)))
