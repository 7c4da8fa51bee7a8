"""Why a plain arm was slow, from recordings of what was the matter."""

from dataclasses import replace

import pytest

from pytest_mtp.core.finding import State, ready
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.slow_plain import slow_plain
from pytest_mtp.core.telemetry import Level, Telemetry, TelemetrySource
from tests.campaigns import around, campaign

GIB = 2**30
# 96 tokens in 960 ms are 100 tok/s; at 7 GB a token that is 700 of the card's 936 GB/s.
SOUND = {"bytes_per_token": 7 * 10**9, "memory_bandwidth": 936e9, "card_memory_bytes": 24 * GIB}
WATCHED = Telemetry(
    source=TelemetrySource.NVML, looks=20, power_w=300.0, temperature_peak_c=70.0, gtt_bytes=Level(0, 2**28, 0)
)


def measured(
    start: dict[str, object] | None = None, telemetry: Telemetry = WATCHED, **circumstances: object
) -> Campaign:
    """A campaign whose starts have all been watched, with what is said of them changed."""
    usual: dict[str, object] = {"telemetry": telemetry, "offloaded": (65, 65), "device_bytes": 20 * GIB}
    now = campaign({"a": around(1.5, 0.01)}, **(SOUND | circumstances))  # type: ignore[arg-type]
    blocks = tuple(
        replace(block, starts=tuple(replace(one, **(usual | (start or {}))) for one in block.starts))  # type: ignore[arg-type]
        for block in now.blocks
    )
    return replace(now, blocks=blocks)


def test_a_sound_card_has_nothing_to_explain_and_shows_what_was_looked_at() -> None:
    findings = slow_plain(measured())
    assert ready(findings)
    assert {one.subject for one in findings} == {"bandwidth", "layers", "power", "heat", "slots", "spill", "build"}
    assert "700 GB/s, 75% of 936 GB/s" in findings[0].said


@pytest.mark.parametrize(
    ("now", "subject", "sentence"),
    [
        (measured(bytes_per_token=4 * 10**9), "bandwidth", "400 GB/s, 43% of 936 GB/s"),
        (measured({"offloaded": (40, 65)}), "layers", "25 of 65 layers are computed by the CPU"),
        (
            measured(telemetry=replace(WATCHED, throttle={"thermal slowdown by the driver": 0.3})),
            "heat",
            "thermal slowdown by the driver in 30% of the readings at up to 70 °C",
        ),
        (measured({"device_bytes": 25 * GIB}), "spill", "takes 25.0 GiB of the card's 24.0 GiB: the rest lies in"),
        (measured({"debug_build": True}), "build", "compiled without optimization"),
    ],
)
def test_what_slows_a_plain_arm_is_named(now: Campaign, subject: str, sentence: str) -> None:
    findings = slow_plain(now)
    assert [one.subject for one in findings if one.state is State.LACK] == [subject]
    assert sentence in next(one.said for one in findings if one.subject == subject)


@pytest.mark.parametrize(
    ("now", "sentence"),
    [
        (
            measured(telemetry=replace(WATCHED, throttle={"power cap": 0.8})),
            "held the card back in 80% of the readings at 300 W",
        ),
        (measured(flags={"parallel": "4"}), "4 slots share context and batches"),
        (measured(memory_bandwidth=None), "what the memory is able to is not told"),
    ],
)
def test_what_may_be_meant_is_a_note(now: Campaign, sentence: str) -> None:
    findings = slow_plain(now)
    assert ready(findings)
    assert sentence in next(one.said for one in findings if one.state is State.NOTE)


def test_what_was_not_told_is_not_judged() -> None:
    bare = measured({"telemetry": None, "offloaded": None, "device_bytes": None}, bytes_per_token=None)
    assert {one.subject for one in slow_plain(bare)} == {"slots", "build"}


def test_the_mtp_arm_explains_nothing() -> None:
    now = measured()
    only_mtp = tuple(
        replace(block, starts=tuple(one for one in block.starts if one.arm is Arm.MTP)) for block in now.blocks
    )
    assert slow_plain(replace(now, blocks=only_mtp))[0].said == "no start of the plain arm was recorded"
