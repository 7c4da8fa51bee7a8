"""Which machine it was: a folder's name that differs whenever a fact does, and a few words for people."""

import re

import pytest

from pytest_mtp.core.card import Card
from pytest_mtp.core.fingerprint import Fingerprint, card_facts, spoken

CPU = {"cpu": "AMD Ryzen 9 (16-Core)", "cores": "16"}
CARD = Card(
    index=0, uuid="GPU-1", name="RTX 3090", driver="570.12.1", power_limit_w=349.7, memory_total_bytes=24 * 2**30
)
BARE = Card(index=1, uuid="GPU-2", name="RTX 3090")


@pytest.mark.parametrize(
    ("facts", "readable"),
    [
        (CPU, "amd-ryzen-9-16-core"),
        ({**CPU, "gpu": "NVIDIA RTX 3090"}, "nvidia-rtx-3090"),
        ({"endpoint": "http://[::1]:8080"}, "http-1-8080"),
        ({"cores": "4"}, "machine"),
        ({"cpu": "x" * 50}, "x" * 40),
    ],
)
def test_a_folder_is_named_by_what_a_person_knows_the_machine_by(facts: dict[str, str], readable: str) -> None:
    assert re.fullmatch(f"{readable}-[0-9a-f]{{8}}", Fingerprint(facts).slug)


def test_a_folders_name_differs_with_every_fact_and_not_with_their_order() -> None:
    assert Fingerprint(CPU).slug != Fingerprint({**CPU, "cores": "8"}).slug
    assert Fingerprint(CPU).slug == Fingerprint(dict(reversed(CPU.items()))).slug


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (CPU, "AMD Ryzen 9 (16-Core), 16 cores"),
        ({}, "unknown processor, ? cores"),
        ({**CPU, "gpu": "RTX 3090"}, "RTX 3090"),
        ({"gpu": "RTX 3090", "endpoint": "127.0.0.1:1"}, "servers at 127.0.0.1:1"),
    ],
)
def test_a_machine_is_spoken_of_by_what_computes(facts: dict[str, str], said: str) -> None:
    assert spoken(facts) == said


def test_cards_are_told_with_what_they_do_not_tell() -> None:
    assert card_facts([]) == {}
    assert card_facts([CARD, BARE]) == {
        "gpu": "RTX 3090 + RTX 3090",
        "gpu_uuid": "GPU-1 + GPU-2",
        "driver": "570 + unknown",  # of a driver its branch alone, which makes another machine
        "power_limit_w": "350 + unknown",
        "gpu_memory_gib": "24 + unknown",
    }
    assert card_facts([CARD, CARD])["driver"] == "570"
