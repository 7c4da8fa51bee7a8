"""Say what a server must draft and accept when its text is a known chain of tokens.

A chain is the text of one prompt class: token ``i`` is followed by token
``i + 1``, the last one by the first. ``walk`` is the server's procedure on
paper, so its counts are what a correct server reports, to the digit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from pytest_mtp.errors import MeasureError, SettingsError


@dataclass(frozen=True, slots=True)
class Chain:
    """The cyclic text of one class, and where the MTP head guesses wrong."""

    name: str
    wrong: tuple[bool, ...]
    """``wrong[i]``: the guess made from token ``i``, which is of the token after it, is wrong."""

    def __post_init__(self) -> None:
        if not self.wrong:
            raise SettingsError(f"The chain of class {self.name!r} has no token; give it at least one.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The counts of one request of ``tokens`` tokens, by arithmetic."""

    tokens: int
    n_max: int
    draft_n: int
    draft_n_accepted: int
    steps: int
    """Decoding steps after the free first token, also those that drafted nothing."""
    drafts: int
    """Steps that drafted at least one token."""
    accepted_per_position: tuple[int, ...]
    """``[j]``: how often the draft's token ``j`` was accepted; ``n_max`` entries."""

    @property
    def tau(self) -> float:
        """Tokens per step, the free first token left out."""
        if self.steps == 0:
            raise MeasureError("One token takes no step, so it has no tau; ask for at least 2 tokens.")
        return (self.tokens - 1) / self.steps


def make_chain(name: str, length: int, wrong_share: float, seed: int) -> Chain:
    """Place ``round(length * wrong_share)`` wrong guesses so that every stretch of the chain has its share."""
    if not 0 <= wrong_share <= 1:
        raise SettingsError(f"Class {name!r} has a share of wrong guesses of {wrong_share}; give one from 0 to 1.")
    right = Chain(name, (False,) * length)
    return _spoil(right, range(length), round(length * wrong_share), f"{seed}/{name}/wrong")


def degrade(chain: Chain, share: float, seed: int) -> Chain:
    """Turn ``share`` of the right guesses wrong, evenly spread; one at least, so that the fault is always there."""
    right = [place for place, wrong in enumerate(chain.wrong) if not wrong]
    count = max(1, round(len(right) * share)) if right else 0
    return _spoil(chain, right, count, f"{seed}/{chain.name}/degraded")


def break_all(chain: Chain) -> Chain:
    """Turn every guess wrong."""
    return replace(chain, wrong=(True,) * len(chain.wrong))


def walk(chain: Chain, tokens: int, n_max: int) -> Walk:
    """Follow a server that drafts up to ``n_max`` tokens a step through ``tokens`` tokens of the chain."""
    if tokens < 1 or n_max < 1:
        raise SettingsError(f"{tokens} tokens with n_max {n_max} cannot be walked; both must be at least 1.")
    made, drafted, steps, drafts = 1, 0, 0, 0  # the first token is free: it is sampled from the prompt
    accepted_per_position = [0] * n_max
    while made < tokens:
        # The step itself gives one token, so the last token of a request is never drafted.
        asked = min(n_max, tokens - made - 1)
        accepted = _agreed(chain, made - 1, asked)
        for position in range(accepted):
            accepted_per_position[position] += 1
        drafted += asked
        drafts += asked > 0
        steps += 1
        made += accepted + 1
    return Walk(
        tokens=tokens,
        n_max=n_max,
        draft_n=drafted,
        draft_n_accepted=sum(accepted_per_position),
        steps=steps,
        drafts=drafts,
        accepted_per_position=tuple(accepted_per_position),
    )


def _agreed(chain: Chain, newest: int, asked: int) -> int:
    """Count the drafts from place ``newest`` that come before the first wrong one, ``asked`` at most."""
    for count in range(asked):
        if chain.wrong[(newest + count) % len(chain.wrong)]:
            return count
    return asked


def _spoil(chain: Chain, places: Sequence[int], count: int, seed: str) -> Chain:
    """Make ``count`` of the guesses at ``places`` wrong: one in each of ``count`` equal stretches."""
    random = Random(seed)
    wrong = list(chain.wrong)
    for stretch in range(count):
        first, end = stretch * len(places) // count, (stretch + 1) * len(places) // count
        # Python promises the sequence of random() across its versions, not that of randrange().
        wrong[places[first + int(random.random() * (end - first))]] = True
    return replace(chain, wrong=tuple(wrong))
