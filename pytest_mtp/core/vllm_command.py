"""How vLLM spells what a server is asked to be, and which part of it vLLM has no word for."""

import json
from collections.abc import Iterator

from pytest_mtp.core.server_spec import MTP_ALONE, ServerSpec, Speculation
from pytest_mtp.errors import FlagError

_ALL_LAYERS = 99
"""By which profiles mean all layers."""
_UNKNOWN = ("threads", "batch", "ubatch", "cache_type_k", "cache_type_v")
_INSTEAD = {
    "batch": "; give extra --max-num-batched-tokens, which is near to it",
    "cache_type_k": "; give extra --kv-cache-dtype, which is of keys and values",
    "cache_type_v": "; give extra --kv-cache-dtype, which is of keys and values",
}
_SAMPLING = (
    ("temp", "temperature"),
    ("top_k", "top_k"),
    ("top_p", "top_p"),
    ("repeat_penalty", "repetition_penalty"),
)


def vllm_command(spec: ServerSpec, port: int, binary: str = "vllm") -> tuple[str, ...]:
    """The command line of one arm; FlagError for what vLLM has no equivalent of.

    What a model's files or vLLM's defaults could change is spelled out: no sampling by the model's own files, no cache
    of prompts.
    """
    if (missing := next(_missing(spec), None)) is not None:
        raise FlagError(f"vLLM has no equivalent of {missing}.")
    words = [binary, "serve", spec.model, "--host", spec.host, "--port", str(port)]
    words += ["--max-model-len", str(spec.ctx), "--max-num-seqs", str(spec.parallel)]
    words += ["--no-enable-prefix-caching", "--generation-config", "vllm"]
    if spec.alias is not None:
        words += ["--served-model-name", spec.alias]
    if sampling := {theirs: getattr(spec, ours) for ours, theirs in _SAMPLING if getattr(spec, ours) is not None}:
        words += ["--override-generation-config", json.dumps(sampling, separators=(",", ":"))]
    words += spec.extra
    return tuple(words) if spec.speculation is None else (*words, *_speculation(spec.speculation))


def _speculation(speculation: Speculation) -> tuple[str, ...]:
    config = {"method": "mtp", "num_speculative_tokens": speculation.n_max}
    return "--speculative-config", json.dumps(config, separators=(",", ":")), *speculation.extra


def _missing(spec: ServerSpec) -> Iterator[str]:
    """What of the spec vLLM has no word for, each with the mend."""
    for field in _UNKNOWN:
        if (value := getattr(spec, field)) is not None:
            yield f"server.{field} = {value}{_INSTEAD.get(field, '')}; leave it out"
    if spec.gpu_layers < _ALL_LAYERS:
        yield f"server.gpu_layers = {spec.gpu_layers}: it keeps all layers where it runs; write {_ALL_LAYERS}, for all"
    if spec.flash_attn == "off":
        yield "server.flash_attn = off: it chooses its attention by itself; leave it out"
    if spec.speculation is not None and spec.speculation.p_min > 0:
        yield f"p_min = {spec.speculation.p_min:g}: its drafts always have their full length; write 0"
    if spec.speculation is not None and (spec.speculation.kinds != MTP_ALONE or spec.speculation.draft_model):
        yield "kinds or draft_model: it is asked for the model's own MTP; leave them out"
    if spec.speculation is not None and spec.speculation.synth_rates:
        yield "synth_rates: it verifies every draft; leave them out"
