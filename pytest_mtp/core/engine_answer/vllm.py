"""vLLM's counters in ``/metrics``, and what lies between two readings of them.

They are of the whole server: the counts of one answer are what was added while nobody else asked. The server has
the counters of speculation exactly when it speculates.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_mtp.core.engine_answer.drafts import OTHERS, Drafts, Verified, drafts_of, no_drafts
from pytest_mtp.core.engine_answer.metrics_page import counters
from pytest_mtp.errors import MeasureError

_DRAFTS = "vllm:spec_decode_num_drafts_total"
_DRAFTED = "vllm:spec_decode_num_draft_tokens_total"
_ACCEPTED = "vllm:spec_decode_num_accepted_tokens_total"
_PER_POSITION = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
_TOKENS = "vllm:generation_tokens_total"
_COUNTED = frozenset({_DRAFTS, _DRAFTED, _ACCEPTED, _PER_POSITION, _TOKENS})
_MOST = 2**53
"""Up to here every whole number is a float."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculated:
    """The counters of speculation since the server's start, its engines added up."""

    drafts: int
    drafted: int
    accepted: int
    per_position: tuple[int, ...]
    """As many as one step drafts at most; empty where the version does not count them."""


@dataclass(frozen=True, slots=True)
class VllmCounters:
    """One reading of ``/metrics``."""

    tokens: int | None
    """Made for all requests; ``None`` where the server counts nothing."""
    speculated: Speculated | None
    """``None`` where it does not speculate, or counts nothing."""

    @property
    def speculative(self) -> bool | None:
        """Whether the server speculates; ``None`` where its statistics are off."""
        if self.speculated is not None:
            return True
        return None if self.tokens is None else False


def vllm_counters(text: str) -> VllmCounters:
    """Read a Prometheus text; MeasureError where it is none."""
    sums = _sums(text)
    tokens = sums.get((_TOKENS, ""))
    if (_DRAFTS, "") not in sums:
        return VllmCounters(tokens, None)
    places = sorted((place for name, place in sums if name == _PER_POSITION and place.isdecimal()), key=int)
    speculated = Speculated(
        drafts=sums[_DRAFTS, ""],
        drafted=sums.get((_DRAFTED, ""), 0),
        accepted=sums.get((_ACCEPTED, ""), 0),
        per_position=tuple(sums[_PER_POSITION, place] for place in places),
    )
    return VllmCounters(tokens, speculated)


def between(before: VllmCounters, after: VllmCounters, tokens: int) -> Drafts:
    """What was drafted for the one answer of ``tokens`` tokens between two readings of a server that counts.

    MeasureError where the server was started anew, or made tokens for others meanwhile.
    """
    first, last = before.speculated, after.speculated
    if after.speculative is not before.speculative or (first and last and _shrank(first, last)):
        raise MeasureError(
            "The counters of /metrics went back while the request ran: the server was started anew meanwhile."
        )
    _check_tokens(before, after, tokens)
    if first is None or last is None:
        return no_drafts(tokens)
    places = zip(first.per_position, last.per_position, strict=True)
    counted = Verified(
        steps=last.drafts - first.drafts,
        drafted=last.drafted - first.drafted,
        accepted=last.accepted - first.accepted,
        per_position=tuple(later - earlier for earlier, later in places) or None,
        n_max=len(last.per_position) or None,
    )
    return drafts_of(tokens, counted)


def _check_tokens(before: VllmCounters, after: VllmCounters, tokens: int) -> None:
    """MeasureError unless exactly this answer's tokens were counted."""
    if before.tokens is None or after.tokens is None or after.tokens - before.tokens == tokens:
        return
    made = after.tokens - before.tokens
    said = f"The server counted {made} tokens while it made the {tokens} of this answer"
    if made < tokens:
        raise MeasureError(f"{said}: it was started anew meanwhile, or answers of several servers come at this URL.")
    raise MeasureError(f"{said}, {OTHERS}")


def _shrank(first: Speculated, last: Speculated) -> bool:
    if len(first.per_position) != len(last.per_position):
        return True
    pairs = ((first.drafts, last.drafts), (first.drafted, last.drafted), (first.accepted, last.accepted))
    return any(later < earlier for earlier, later in (*pairs, *zip(first.per_position, last.per_position, strict=True)))


def _sums(text: str) -> Mapping[tuple[str, str], int]:
    """The counters by name and place in the draft, all models and engines of the server added up."""
    sums: dict[tuple[str, str], int] = {}
    for one in counters(text):
        if one.name not in _COUNTED:
            continue
        if not 0 <= one.value <= _MOST:
            raise MeasureError(f"/metrics counts {one.value:g} in {one.name!r:.80}, which is no number of things.")
        key = one.name, one.labels.get("position", "")
        sums[key] = sums.get(key, 0) + int(one.value)
    return sums
