import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtp.core.long_text import long_text


def test_a_seed_gives_the_same_text_on_every_machine() -> None:
    assert long_text(20, 60) == (
        "Day 3. Fog until noon. Jory heard at the inn by the bridge that oak planks will be dear in spring, "
        "and ordered 80 loads at once. Nobody came for the lamp oil except old Tobias, who had walked from "
        "the harbour for 30 handfuls. The cart to the inn by the bridge broke an axle, so Anselm carried the "
        "copper wire there, 32 pounds at a time. Of the dried apples that lay at the harbour, 53 bundles "
        "were wet, and Ines dried them by the stove. Mira brought 64 sacks of copper wire from the mill and "
        "took window glass back."
    )


@given(st.integers(), st.integers(min_value=0, max_value=2000))
def test_it_has_the_words_that_are_asked_for_and_little_more(seed: int, words: int) -> None:
    assert words <= len(long_text(seed, words).split()) < words + 200


@given(st.integers(), st.integers(min_value=1, max_value=500))
def test_a_longer_text_goes_on_where_the_shorter_one_ends(seed: int, words: int) -> None:
    assert long_text(seed, words + 100).startswith(long_text(seed, words))


@pytest.mark.parametrize("seed", range(5))
def test_its_sentences_are_varied(seed: int) -> None:
    sentences = re.split(r"(?<=[.])\s+", long_text(seed, 3000))
    told = Counter(one for one in sentences if len(one.split()) > 6)
    assert max(told.values()) <= 2
    assert len(told) > 150


def test_seeds_differ() -> None:
    assert len({long_text(seed, 100) for seed in range(50)}) == 50
