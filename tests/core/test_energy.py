from dataclasses import replace

import pytest

from pytest_mtp.core.energy import energy_per_token
from pytest_mtp.core.sample import Campaign
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.telemetry import Telemetry, TelemetrySource
from tests.campaigns import TOKENS, around, campaign


def watched(energy_j: dict[Arm, float | None]) -> Campaign:
    now = campaign({"a": around(2.0, 0.01)})
    blocks = tuple(
        replace(
            block,
            starts=tuple(
                replace(one, telemetry=Telemetry(source=TelemetrySource.NVML, energy_j=energy_j[one.arm]))
                for one in block.starts
            ),
        )
        for block in now.blocks
    )
    return replace(now, blocks=blocks)


def test_energy_is_shared_by_all_tokens_of_an_arm() -> None:
    now = watched({Arm.PLAIN: 6.0 * TOKENS, Arm.MTP: 4.0 * TOKENS})
    assert energy_per_token(now, Arm.PLAIN) == pytest.approx(6.0)
    assert energy_per_token(now, Arm.MTP) == pytest.approx(4.0)


def test_a_card_that_does_not_tell_costs_nothing_that_is_known() -> None:
    assert energy_per_token(watched({Arm.PLAIN: None, Arm.MTP: None}), Arm.PLAIN) is None
    assert energy_per_token(campaign({"a": around(2.0, 0.01)}), Arm.PLAIN) is None
    assert energy_per_token(campaign({"a": ()}), Arm.PLAIN) is None
