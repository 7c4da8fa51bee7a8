"""Which phantom: its size, its classes and the fault of its head, and what a server must then report."""

import hashlib
import json
import re
from dataclasses import dataclass
from enum import Enum

from pytest_mtp.errors import SettingsError
from pytest_mtp.phantom.chains import Chain, Walk, break_all, degrade, make_chain, walk

# 1 - first version
WRITER_VERSION = 1

WEIGHTS = ("q8_0", "f16")
HEAD_DIM = 64
"""Width of an attention head and of a recurrent state; ``n_embd`` is cut into such heads."""
ATTENTION_INTERVAL = 4
"""Every so many trunk blocks one is full attention, the others are recurrent."""
_QUANT_BLOCK = 32
_SHORTEST_CHAIN = 2
_HEAD_FORMS = "sound, broken, degraded:P or degraded:P@CLASS with 0 < P <= 1"


class HeadKind(Enum):
    """How the MTP head is made."""

    SOUND = "sound"
    BROKEN = "broken"
    """Every guess is wrong."""
    DEGRADED = "degraded"
    """A share of the guesses that should be right is wrong."""


@dataclass(frozen=True, slots=True)
class Head:
    """The MTP head, sound or with a planted fault; ``str()`` is what ``parse_head`` reads."""

    kind: HeadKind = HeadKind.SOUND
    share: float | None = None
    """Share of the right guesses turned wrong; ``None`` unless degraded."""
    chain: str | None = None
    """The only class that is degraded; ``None`` means all of them."""

    def __post_init__(self) -> None:
        degraded = self.kind is HeadKind.DEGRADED
        if degraded != (self.share is not None) or (self.chain is not None and not degraded):
            raise SettingsError(f"A {self.kind.value} head with share {self.share} is no head; write {_HEAD_FORMS}.")
        if self.share is not None and not 0 < self.share <= 1:
            raise SettingsError(f"A head cannot be degraded by {self.share}; write {_HEAD_FORMS}.")

    def __str__(self) -> str:
        if self.kind is not HeadKind.DEGRADED:
            return str(self.kind.value)
        return f"degraded:{self.share}" + (f"@{self.chain}" if self.chain is not None else "")


def parse_head(text: str) -> Head:
    """Read ``sound``, ``broken``, ``degraded:P`` or ``degraded:P@CLASS``."""
    if text in (HeadKind.SOUND.value, HeadKind.BROKEN.value):
        return Head(HeadKind(text))
    match = re.fullmatch(r"degraded:([^@]+)(?:@(.+))?", text)
    if match is None:
        raise SettingsError(f"{text!r} is no head of a phantom; write {_HEAD_FORMS}.")
    try:
        share = float(match[1])
    except ValueError:
        raise SettingsError(f"{match[1]!r} in {text!r} is no number; write {_HEAD_FORMS}.") from None
    return Head(HeadKind.DEGRADED, share, match[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class PhantomSpec:
    """Everything a phantom is made from; the same values give the same file, byte for byte."""

    seed: int
    layers: int
    """Trunk blocks, without the MTP block."""
    n_embd: int
    n_ff: int
    chain_length: int
    """Tokens of each class before its text repeats."""
    weights: str
    """How big matrices are stored: ``q8_0`` or ``f16``."""
    wrong: tuple[tuple[str, float], ...]
    """Each class with its share of wrong guesses, in the order of its tokens in the vocabulary."""
    head: Head = Head()

    def __post_init__(self) -> None:
        self._check_size()
        self._check_classes()

    @property
    def identity(self) -> str:
        """A short hash of what the model is; a planted fault is a circumstance, not another model."""
        model = {key: value for key, value in self.recipe.items() if key != "head"}
        return hashlib.sha256(json.dumps(model, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def recipe(self) -> dict[str, object]:
        """All that decides the bytes of the file, fit for JSON; the cache's key."""
        return {
            "writer": WRITER_VERSION,
            "seed": self.seed,
            "layers": self.layers,
            "n_embd": self.n_embd,
            "n_ff": self.n_ff,
            "chain_length": self.chain_length,
            "weights": self.weights,
            "wrong": [[name, float(share)] for name, share in self.wrong],
            "head": str(self.head),
        }

    @property
    def names(self) -> tuple[str, ...]:
        """The prompt classes."""
        return tuple(name for name, _ in self.wrong)

    def chains(self) -> tuple[Chain, ...]:
        """Make the chain of every class, with the head's fault applied."""
        return tuple(self._faulty(make_chain(name, self.chain_length, share, self.seed)) for name, share in self.wrong)

    def expected(self, name: str, tokens: int, n_max: int) -> Walk:
        """Count what a server must report for one request of class ``name``."""
        return walk(self.chains()[self._index(name)], tokens, n_max)

    def prompt(self, name: str) -> str:
        """Spell the prompt of a class, which is one token."""
        return f"<|{self.names[self._index(name)]}|>"

    def _faulty(self, chain: Chain) -> Chain:
        if self.head.kind is HeadKind.BROKEN:
            return break_all(chain)
        if self.head.share is None or self.head.chain not in (None, chain.name):
            return chain
        return degrade(chain, self.head.share, self.seed)

    def _index(self, name: str) -> int:
        if name not in self.names:
            raise SettingsError(f"The phantom has no class {name!r}; it has {', '.join(self.names)}.")
        return self.names.index(name)

    def _check_size(self) -> None:
        for field, value, unit in (
            ("layers", self.layers, ATTENTION_INTERVAL),
            ("n_embd", self.n_embd, HEAD_DIM),
            ("n_ff", self.n_ff, _QUANT_BLOCK),
        ):
            if value < unit or value % unit:
                raise SettingsError(f"The phantom's {field} is {value}; give a positive multiple of {unit}.")
        if self.chain_length < _SHORTEST_CHAIN:
            raise SettingsError(
                f"The phantom's chain_length is {self.chain_length}; a wrong guess needs at least {_SHORTEST_CHAIN}."
            )
        if self.weights not in WEIGHTS:
            raise SettingsError(f"The phantom's weights are {self.weights!r}; they are one of {', '.join(WEIGHTS)}.")

    def _check_classes(self) -> None:
        if not self.wrong:
            raise SettingsError("The phantom has no class; give at least one with its share of wrong guesses.")
        for name, share in self.wrong:
            if not re.fullmatch(r"[a-z0-9_-]+", name):
                raise SettingsError(f"The phantom's class {name!r} cannot be a token; use a-z, 0-9, _ and - only.")
            if not 0 <= share <= 1:
                raise SettingsError(
                    f"The phantom's class {name!r} has {share} wrong guesses; give a share from 0 to 1."
                )
            if self.names.count(name) > 1:
                raise SettingsError(f"The phantom has class {name!r} more than once; give each its own name.")
        if self.head.chain is not None:
            self._index(self.head.chain)
