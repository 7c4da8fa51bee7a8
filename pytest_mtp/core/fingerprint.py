"""Which machine a measurement belongs to: numbers of unlike machines are never compared."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_mtp.core.card import Card


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The facts that make machines alike for a measurement (processor, cores, instruction sets, cards).

    Of servers that run already it is where they are: nothing else is known of their machine.
    """

    facts: dict[str, str]

    @property
    def slug(self) -> str:
        """A readable folder name that differs whenever a fact does."""
        digest = hashlib.sha256(json.dumps(self.facts, sort_keys=True).encode()).hexdigest()[:8]
        named = self.facts.get("gpu") or self.facts.get("cpu") or self.facts.get("endpoint") or "machine"
        readable = re.sub(r"[^a-z0-9]+", "-", named.lower()).strip("-")[:40]
        return f"{readable}-{digest}"


def spoken(facts: Mapping[str, str]) -> str:
    """The machine in a few words, from its facts."""
    if "endpoint" in facts:
        return f"servers at {facts['endpoint']}"
    return facts.get("gpu") or f"{facts.get('cpu', 'unknown processor')}, {facts.get('cores', '?')} cores"


def card_facts(cards: Sequence[Card]) -> dict[str, str]:
    """The facts of the cards in use, several joined by `` + ``; empty without a card."""
    if not cards:
        return {}
    return {
        "gpu": _joined(card.name for card in cards),
        "gpu_uuid": _joined(card.uuid for card in cards),
        # A minor driver release is no other machine.
        "driver": _joined({(card.driver or "unknown").split(".", maxsplit=1)[0]: None for card in cards}),
        "power_limit_w": _joined(_rounded(card.power_limit_w) for card in cards),
        "gpu_memory_gib": _joined(_rounded(card.memory_total_bytes, 2**30) for card in cards),
    }


def _joined(words: Iterable[str]) -> str:
    return " + ".join(words)


def _rounded(value: float | None, unit: int = 1) -> str:
    return "unknown" if value is None else str(round(value / unit))
