"""Which machine a measurement belongs to: numbers of unlike machines are never compared."""

import hashlib
import json
import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The facts that make machines alike for a measurement (processor, cores, instruction sets, cards)."""

    facts: dict[str, str]

    @property
    def slug(self) -> str:
        """A readable folder name that differs whenever a fact does."""
        digest = hashlib.sha256(json.dumps(self.facts, sort_keys=True).encode()).hexdigest()[:8]
        named = self.facts.get("gpu") or self.facts.get("cpu") or "machine"
        readable = re.sub(r"[^a-z0-9]+", "-", named.lower()).strip("-")[:40]
        return f"{readable}-{digest}"
