"""A text of any length, made from a seed: the same words on every machine, so that nothing long is stored."""

from collections.abc import Iterator
from random import Random

_WHO = ("Mira", "old Tobias", "the ferryman", "Anselm", "the baker's wife", "Ines", "a pedlar from the south", "Jory")
_GOODS = ("salt", "copper wire", "oak planks", "lamp oil", "barley", "wool", "window glass", "dried apples", "rope")
_PLACES = ("the harbour", "the mill", "the upper farm", "the chapel", "the quarry", "the inn by the bridge")
_WEATHER = ("Fog until noon", "A dry wind from the east", "Rain all day", "Frost on the sails", "Clear and still")
_DEEDS = (
    "{who} brought {count} sacks of {goods} from {place} and took {other} back.",
    "{count} crates of {goods} went to {place}; {who} signed for them.",
    "At {place} {who} offered {count} coins for our {goods}; we wanted {other} for it.",
    "{who} asked whether the {goods} for {place} had come; we had only {other}.",
    "Of the {goods} that lay at {place}, {count} bundles were wet, and {who} dried them by the stove.",
    "{who} owes us for {count} measures of {goods} and will pay in {other} before the snow.",
    "Nobody came for the {goods} except {who}, who had walked from {place} for {count} handfuls.",
    "We counted the {goods} twice and found {count} bales, though {who} had written down fewer.",
    "{who} heard at {place} that {goods} will be dear in spring, and ordered {count} loads at once.",
    "A quarrel at {place}: {who} called our {other} old, then bought {count} pieces of it after all.",
    "The cart to {place} broke an axle, so {who} carried the {goods} there, {count} pounds at a time.",
)


def long_text(seed: int, words: int) -> str:
    """At least ``words`` words in paragraphs, and no more than one paragraph beyond them."""
    paragraphs: list[str] = []
    written = 0
    for paragraph in _days(Random(seed)):
        if written >= words:
            break
        paragraphs.append(paragraph)
        written += len(paragraph.split())
    return "\n\n".join(paragraphs)


def _days(chance: Random) -> Iterator[str]:
    day = 0
    while True:
        day += 1 + _below(chance, 3)
        deeds = " ".join(_deed(chance) for _ in range(3 + _below(chance, 3)))
        yield f"Day {day}. {_one(chance, _WEATHER)}. {deeds}"


def _deed(chance: Random) -> str:
    sentence = _one(chance, _DEEDS).format(
        who=_one(chance, _WHO),
        goods=_one(chance, _GOODS),
        other=_one(chance, _GOODS),
        place=_one(chance, _PLACES),
        count=2 + _below(chance, 90),
    )
    return sentence[0].upper() + sentence[1:]


def _one(chance: Random, offers: tuple[str, ...]) -> str:
    return offers[_below(chance, len(offers))]


def _below(chance: Random, limit: int) -> int:
    # Of random's methods, only random() is promised to give the same numbers in every version of Python.
    return int(chance.random() * limit)
