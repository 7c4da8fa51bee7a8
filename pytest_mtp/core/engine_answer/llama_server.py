"""llama-server's answers and ``/props``, of any fork."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_mtp.core.engine_answer.drafts import Drafts
from pytest_mtp.core.engine_answer.protocol import Clock, Told
from pytest_mtp.core.request import Answer


@dataclass(frozen=True, slots=True)
class LlamaProps:
    """What ``/props`` says that matters here."""

    model: str
    """The path of its model."""
    alias: str
    build: str


def llama_props(doc: Mapping[str, object]) -> LlamaProps | None:
    """Read ``/props``; ``None`` where the document is of another engine."""
    if "default_generation_settings" not in doc and "total_slots" not in doc:
        return None
    told = (doc.get(field) for field in ("model_path", "model_alias", "build_info"))
    said = (one if isinstance(one, str) else "" for one in told)
    return LlamaProps(*said)


def speculative_slots(slots: Sequence[Mapping[str, object]]) -> bool | None:
    """Whether the slots of a server speculate; ``None`` where they do not say, or not the same."""
    told = [slot.get("speculative") for slot in slots]
    said = {one for one in told if isinstance(one, bool)}
    return said.pop() if len(said) == 1 and all(isinstance(one, bool) for one in told) else None


def told_of(answer: Answer) -> Told:
    """A measured answer with its steps; a llama-server that drafted nothing leaves the counts out."""
    timings = answer.timings
    arrivals = answer.arrivals_ms
    drafts = Drafts(
        steps=max(timings.predicted_n - 1, 0) - timings.draft_n_accepted,
        drafted=timings.draft_n or 0,
        accepted=timings.draft_n_accepted,
    )
    return Told(
        text=answer.text,
        tokens=timings.predicted_n,
        prompt_tokens=timings.prompt_n + timings.cache_n,
        cached_tokens=timings.cache_n,
        first_token_ms=arrivals[0] if arrivals else None,
        prompt_ms=timings.prompt_ms,
        decode_ms=timings.predicted_ms,
        clock=Clock.SERVER,
        wall_ms=answer.wall_ms,
        stop_type=answer.stop_type,
        drafts=drafts,
        arrivals_ms=arrivals,
    )
