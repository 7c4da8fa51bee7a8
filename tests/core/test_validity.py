"""Blocks that do not count, each beside a twin that differs only in the point.

The recordings in data/telemetry were written by hand, after what such cards show: a column for each reading,
one value where it does not change.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.isolation import Isolation
from pytest_mtp.core.sample import Start
from pytest_mtp.core.server_spec import Arm
from pytest_mtp.core.telemetry import OPTIONAL_READINGS, Reading, TelemetrySource, telemetry
from pytest_mtp.core.validity import RULES, Conditions, clocks_apart, fewer_layers, invalid_reason, larger_than_the_card

_FOLDER = Path(__file__).parent / "data" / "telemetry"
RECORDINGS = {path.stem: msgspec.json.decode(path.read_bytes()) for path in sorted(_FOLDER.glob("*.json"))}
every_recording = pytest.mark.parametrize("name", RECORDINGS)


def conditions(recording: dict[str, Any]) -> Conditions:
    return msgspec.convert(recording["conditions"], Conditions)


def starts(block: dict[str, Any], without: str | None = None) -> tuple[Start, ...]:
    """The starts of a recorded block, on a card that does not tell ``without``."""
    return tuple(start(Arm(arm), facts, without) for arm, facts in block.items())


def start(arm: Arm, facts: dict[str, Any], without: str | None = None) -> Start:
    columns = {name: values for name, values in facts["readings"].items() if name != without}
    rows = [
        {name: values[place] if isinstance(values, list) else values for name, values in columns.items()}
        for place in range(len(columns["t_s"]))
    ]
    return Start(
        arm=arm,
        command="",
        load_s=1.0,
        samples=(),
        offloaded=facts["offloaded"] and tuple(facts["offloaded"]),
        device_bytes=facts["device_bytes"],
        telemetry=telemetry(TelemetrySource.NVML, [msgspec.convert(rows, list[Reading])]),
    )


@every_recording
def test_a_broken_circumstance_makes_the_block_invalid_and_is_named(name: str) -> None:
    recording = RECORDINGS[name]
    assert recording["says"] in str(invalid_reason(starts(recording["broken"]), conditions(recording)))


@every_recording
def test_its_twin_counts(name: str) -> None:
    recording = RECORDINGS[name]
    assert invalid_reason(starts(recording["sound"]), conditions(recording)) is None


@every_recording
@pytest.mark.parametrize("lacking", OPTIONAL_READINGS)
def test_a_card_that_does_not_tell_a_reading_is_not_blamed_for_it(name: str, lacking: str) -> None:
    recording = RECORDINGS[name]
    assert invalid_reason(starts(recording["sound"], lacking), conditions(recording)) is None
    said = invalid_reason(starts(recording["broken"], lacking), conditions(recording))
    assert (said is None) or lacking not in recording["needs"] or recording["says"] not in said


@every_recording
def test_a_reading_that_a_rule_needs_is_needed(name: str) -> None:
    recording = RECORDINGS[name]
    for lacking in set(OPTIONAL_READINGS) - set(recording["needs"]):
        said = invalid_reason(starts(recording["broken"], lacking), conditions(recording))
        assert recording["says"].split()[0] in str(said)


def test_without_any_telemetry_only_layers_are_judged() -> None:
    bare = tuple(Start(arm=arm, command="", load_s=1.0, samples=(), offloaded=(66, 66)) for arm in Arm)
    assert invalid_reason(bare, Conditions(backend=Backend.CUDA, gpu_layers=99, may_spill=True, locked_mhz=1)) is None


def test_a_cpu_build_is_asked_for_no_card() -> None:
    bare = tuple(Start(arm=arm, command="", load_s=1.0, samples=()) for arm in Arm)
    assert invalid_reason(bare, Conditions(gpu_layers=99)) is None


def test_every_rule_has_a_recording_that_breaks_it() -> None:
    broken = {
        rule
        for recording in RECORDINGS.values()
        for rule in RULES
        if rule(starts(recording["broken"]), conditions(recording)) is not None
    }
    assert broken == set(RULES)


def _sound() -> tuple[Start, ...]:
    return starts(RECORDINGS["foreign"]["sound"])


@pytest.mark.parametrize(("asked", "placed", "valid"), [(20, 20, True), (20, 19, False), (0, 0, True), (66, 66, True)])
def test_fewer_layers_than_the_model_has_are_fine_where_they_were_asked_for(
    asked: int, placed: int, *, valid: bool
) -> None:
    some = tuple(replace(one, offloaded=(placed, 66)) for one in _sound())
    assert (fewer_layers(some, Conditions(backend=Backend.CUDA, gpu_layers=asked)) is None) is valid


@pytest.mark.parametrize(("isolation", "valid"), [(Isolation.ALTERNATE, True), (Isolation.SIDE_BY_SIDE, False)])
def test_servers_side_by_side_share_the_memory(isolation: Isolation, *, valid: bool) -> None:
    card = Conditions(backend=Backend.CUDA, gpu_layers=99, isolation=isolation, card_memory_bytes=24 * 2**30)
    assert (larger_than_the_card(_sound(), card) is None) is valid  # 17 GiB each


def test_a_clock_of_a_few_readings_is_chance() -> None:
    apart = starts(RECORDINGS["clocks-apart"]["broken"])
    few = tuple(replace(one, telemetry=one.telemetry and replace(one.telemetry, looks=4)) for one in apart)
    assert clocks_apart(apart, Conditions()) is not None
    assert clocks_apart(few, Conditions()) is None
