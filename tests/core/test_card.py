"""Which card is meant, which are used, and how a server is held to them."""

import pytest

from pytest_mtp.core.build_spec import Backend
from pytest_mtp.core.card import (
    Card,
    bandwidth,
    card_environment,
    choose,
    may_spill,
    measured,
    memory_of,
    splits,
    sustainable_clock_mhz,
    visible,
)
from pytest_mtp.core.fingerprint import card_facts
from pytest_mtp.core.platform_support import platform_sentence
from pytest_mtp.errors import SettingsError

FIRST = Card(index=0, uuid="GPU-aa11", name="NVIDIA GeForce RTX 3090", driver="570.86.15", power_limit_w=350.0)
SECOND = Card(index=1, uuid="GPU-aa22", name="NVIDIA GeForce GTX 1060", memory_total_bytes=6 * 2**30)
CARDS = (FIRST, SECOND)


@pytest.mark.parametrize(
    ("gpu_id", "card"),
    [(None, FIRST), ("0", FIRST), ("1", SECOND), ("GPU-aa22", SECOND), ("GPU-aa2", SECOND), ("gpu-AA1", FIRST)],
)
def test_a_card_is_named_by_index_or_by_the_beginning_of_its_uuid(gpu_id: str | None, card: Card) -> None:
    assert choose(CARDS, gpu_id) is card


@pytest.mark.parametrize(
    ("gpu_id", "trouble"),
    [("2", "is no card"), ("GPU-b", "is no card"), ("", "is no card"), ("GPU-aa", "more than one")],
)
def test_a_card_that_is_not_one_is_refused_with_the_cards_there_are(gpu_id: str, trouble: str) -> None:
    with pytest.raises(SettingsError, match=trouble) as error:
        choose(CARDS, gpu_id)
    assert "0 (NVIDIA GeForce RTX 3090, GPU-aa11), 1 (NVIDIA GeForce GTX 1060, GPU-aa22)" in str(error.value)


@pytest.mark.parametrize(
    ("gpu_id", "flags", "used"),
    [
        (None, (), (FIRST,)),
        (None, ("--no-mmap",), (FIRST,)),
        (None, ("-sm", "layer"), CARDS),
        (None, ("--split-mode=row",), CARDS),
        (None, ("-ts", "3,1"), CARDS),
        (None, ("-sm", "none", "-ts", "3,1"), (FIRST,)),
        ("1", ("-sm", "layer"), (SECOND,)),
    ],
)
def test_all_cards_are_used_only_where_the_profile_splits_the_model(
    gpu_id: str | None, flags: tuple[str, ...], used: tuple[Card, ...]
) -> None:
    assert measured(CARDS, gpu_id, flags) == used
    assert splits(flags) is (used == CARDS) or gpu_id is not None


@pytest.mark.parametrize(
    ("value", "left"),
    [(None, CARDS), ("1", (SECOND,)), ("GPU-aa22,0", (SECOND, FIRST))],
)
def test_cards_hidden_by_the_user_stay_hidden(value: str | None, left: tuple[Card, ...]) -> None:
    assert visible(CARDS, "CUDA_VISIBLE_DEVICES", value) == left


@pytest.mark.parametrize(("value", "trouble"), [("", "hides every card"), ("-1", "names -1"), ("MIG-1", "names MIG-1")])
def test_a_variable_that_leaves_no_card_is_refused_by_its_name(value: str, trouble: str) -> None:
    with pytest.raises(SettingsError, match=trouble):
        visible(CARDS, "CUDA_VISIBLE_DEVICES", value)


@pytest.mark.parametrize(
    ("backend", "cards", "variables"),
    [
        (Backend.CUDA, (SECOND,), {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "GPU-aa22"}),
        (Backend.CUDA, CARDS, {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "GPU-aa11,GPU-aa22"}),
        (Backend.HIP, (SECOND,), {"ROCR_VISIBLE_DEVICES": "GPU-aa22", "HIP_VISIBLE_DEVICES": "0"}),
        (Backend.HIP, (Card(index=1, uuid="0000:03:00.0", name="APU"),), {"HIP_VISIBLE_DEVICES": "1"}),
        (Backend.VULKAN, (SECOND,), {"GGML_VK_VISIBLE_DEVICES": "1"}),
        (Backend.METAL, (), {}),
    ],
)
def test_each_backend_has_its_own_variable(
    backend: Backend, cards: tuple[Card, ...], variables: dict[str, str]
) -> None:
    assert card_environment(cards, backend) == variables


def test_facts_of_several_cards_are_all_part_of_the_fingerprint() -> None:
    assert card_facts(CARDS) == {
        "gpu": "NVIDIA GeForce RTX 3090 + NVIDIA GeForce GTX 1060",
        "gpu_uuid": "GPU-aa11 + GPU-aa22",
        "driver": "570 + unknown",
        "power_limit_w": "350 + unknown",
        "gpu_memory_gib": "unknown + 6",
    }
    assert card_facts(()) == {}


def test_memory_is_known_where_every_card_tells_it() -> None:
    assert memory_of((SECOND, SECOND)) == 12 * 2**30
    assert memory_of(CARDS) is None
    assert memory_of(()) is None


def test_bandwidth_and_clock_are_those_of_an_rtx_3090() -> None:
    assert bandwidth(9751, 384) == pytest.approx(936e9, rel=1e-3)
    assert bandwidth(None, 384) is None
    assert sustainable_clock_mhz(None, 2100) == 1400
    assert sustainable_clock_mhz(1980, 1980) == 1980
    assert sustainable_clock_mhz(None, None) is None


def test_memory_spills_unsaid_on_the_driver_of_windows_and_where_it_is_asked_for() -> None:
    assert may_spill("5.15.167.4-microsoft-standard-WSL2", {})
    assert may_spill("6.8.0-45-generic", {"GGML_CUDA_ENABLE_UNIFIED_MEMORY": ""})
    assert not may_spill("6.8.0-45-generic", {"GGML_CUDA_FORCE_MMQ": "1"})


@pytest.mark.parametrize(
    ("system", "backend", "words"),
    [
        ("Linux", Backend.CUDA, None),
        ("Linux", Backend.METAL, "needs macOS"),
        ("Darwin", Backend.METAL, None),
        ("Darwin", Backend.CPU, None),
        ("Darwin", Backend.CUDA, "--mtp-backend metal"),
        ("Windows", Backend.CPU, "WSL2"),
        ("Windows", Backend.CUDA, "WSL2"),
    ],
)
def test_a_system_where_nothing_works_is_told_in_a_sentence(system: str, backend: Backend, words: str | None) -> None:
    said = platform_sentence(system, backend)
    assert said is None if words is None else words in str(said)
