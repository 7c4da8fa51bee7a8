"""SGLang's own ``/generate``, which tells the steps of verifying with every answer, and its ``/server_info``.

The names of the counts changed between versions (``spec_accept_token_num``, ``spec_accepted_drafts``,
``spec_num_correct_drafts``), and old ones tell ``spec_verify_ct`` alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pytest_mtp.core.engine_answer.arriving import arrivals_of
from pytest_mtp.core.engine_answer.drafts import Drafts, Verified, drafts_of, no_drafts
from pytest_mtp.core.engine_answer.protocol import Clock, Event, Stream, Told, stop_type
from pytest_mtp.core.engine_answer.reading import broken, checked, count, table

_MOST_PLACES = 1024
"""Drafts of one step that are told apart; several times what any engine drafts."""
_META = "meta_info"
_ACCEPTED = ("spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num", "spec_accepted_tokens")
_DRAFTED = ("spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num")
_HISTOGRAM = ("spec_correct_drafts_histogram", "spec_accept_histogram")


@dataclass(frozen=True, slots=True, kw_only=True)
class SglangInfo:
    """What ``/server_info`` (or ``/get_server_info``) says that matters here."""

    version: str
    model: str
    algorithm: str | None
    """Of speculation; ``None`` where it is off."""
    guesses: int | None
    """Drafts of one step; SGLang counts the token of the model itself among its draft tokens, and this does not."""
    disjoint: bool
    """Whether a chunk has the new text alone, and not all text so far."""


def sglang_info(doc: Mapping[str, object]) -> SglangInfo | None:
    """Read a server info; ``None`` where the document is of another engine."""
    model = doc.get("model_path")
    if not isinstance(model, str) or "speculative_algorithm" not in doc:
        return None
    drafted, named = doc.get("speculative_num_draft_tokens"), doc.get("served_model_name")
    return SglangInfo(
        version=str(doc.get("version", "")),
        model=named if isinstance(named, str) and named else model,
        algorithm=None if not doc["speculative_algorithm"] else str(doc["speculative_algorithm"]),
        guesses=drafted - 1 if isinstance(drafted, int) and 0 < drafted <= _MOST_PLACES else None,
        disjoint=bool(doc.get("stream_output") or doc.get("incremental_streaming_output")),
    )


def read_sglang(stream: Stream, info: SglangInfo) -> Told:
    """Read the events of a completion; MeasureError where it broke."""
    events = checked(stream)
    meta = table(events[-1][1], _META) if events else {}
    reason = meta.get("finish_reason")
    if not stream.whole or not reason:
        raise broken(events)
    tokens = count(meta, "completion_tokens", _META)
    progress = [(ms, count(table(doc, _META), "completion_tokens", _META)) for ms, doc in events]
    arrivals = arrivals_of(progress, tokens)
    kind = reason.get("type", reason) if isinstance(reason, Mapping) else reason
    first, last = (arrivals[0], arrivals[-1]) if arrivals else (stream.wall_ms, stream.wall_ms)
    return Told(
        text=_text(events, disjoint=info.disjoint),
        tokens=tokens,
        prompt_tokens=count(meta, "prompt_tokens", _META),
        cached_tokens=None if meta.get("cached_tokens") is None else count(meta, "cached_tokens", _META),
        first_token_ms=first,
        prompt_ms=first,
        decode_ms=last - first,
        clock=Clock.CLIENT,
        wall_ms=stream.wall_ms,
        stop_type=stop_type(kind),
        drafts=_drafts(meta, tokens, info),
        arrivals_ms=arrivals,
    )


def _text(events: tuple[Event, ...], *, disjoint: bool) -> str:
    texts = [str(doc.get("text") or "") for _, doc in events]
    return "".join(texts) if disjoint else texts[-1]


def _drafts(meta: Mapping[str, object], tokens: int, info: SglangInfo) -> Drafts | None:
    """The drafts of one answer; ``None`` where the server speculates and does not tell how much."""
    steps = _first(meta, ("spec_verify_ct",))
    if info.algorithm is None and not steps:
        return no_drafts(tokens)
    drafted = _first(meta, _DRAFTED)
    if drafted is None and steps is not None and info.guesses is not None:
        drafted = steps * info.guesses
    if steps is None or drafted is None:
        return None
    counted = Verified(steps=steps, drafted=drafted, accepted=_first(meta, _ACCEPTED), n_max=info.guesses)
    return replace(drafts_of(tokens, counted), per_position=_positions(meta, info.guesses))


def _first(meta: Mapping[str, object], fields: tuple[str, ...]) -> int | None:
    field = next((one for one in fields if meta.get(one) is not None), None)
    return None if field is None else count(meta, field, _META)


def _positions(meta: Mapping[str, object], guesses: int | None) -> tuple[int, ...] | None:
    """Accepted drafts by place: the draft at a place was accepted in every step that accepted more than that many."""
    histogram = next((meta[one] for one in _HISTOGRAM if isinstance(meta.get(one), list)), None)
    if not isinstance(histogram, list) or len(histogram) > _MOST_PLACES:
        return None
    if not all(isinstance(one, int) and 0 <= one < 1 << 31 for one in histogram):
        return None
    places = max(len(histogram) - 1, guesses or 0)
    return tuple(sum(histogram[place + 1 :]) for place in range(places))
