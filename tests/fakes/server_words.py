"""What the fake llama-server says: its help, and what broken servers say in answers and logs."""

import json
import math

HELP = """\
----- common params -----

-h,    --help, --usage                  print usage and exit
-c,    --ctx-size N                     size of the prompt context (default: 0)
-fa,   --flash-attn [on|off|auto]       set Flash Attention use ('on', 'off', or 'auto', default: 'auto')
-ngl,  --gpu-layers, --n-gpu-layers N   max. number of layers to store in VRAM
-fit,  --fit [on|off]                   whether to adjust unset arguments to fit in device memory
-m,    --model FNAME                    model path to load
-a,    --alias STRING                   set model name aliases


----- speculative params -----

--spec-draft-n-max N                    number of tokens to draft for speculative decoding (default: 3)
--spec-draft-p-min, --draft-p-min P     minimum speculative decoding probability (greedy) (default: 0.00)
--spec-type none,draft-simple,draft-mtp,ngram-mod
                                        comma-separated list of types of speculative decoding to use
--draft, --draft-n, --draft-max N       the argument has been removed. use --spec-draft-n-max


----- example-specific params -----

-np,   --parallel N                     number of server slots (default: -1, -1 = auto)
-cram, --cache-ram N                    set the maximum cache size in MiB (default: 8192)
--host HOST                             ip address to listen
--port PORT                             port to listen (default: 8080)
--api-key-file FNAME                    path to file containing API keys
--metrics                               enable prometheus compatible metrics endpoint (default: disabled)
--slots, --no-slots                     expose slots monitoring endpoint (default: enabled)
"""
# What a broken server says of one answer.
BROKEN_TIMINGS: dict[str, dict[str, object]] = {
    "nan": {"predicted_ms": math.nan},
    "infinite": {"predicted_ms": math.inf},
    "negative": {"predicted_ms": -5.0},
    "no-time": {"predicted_ms": 0},
    "hardly-any-time": {"predicted_ms": 1e-300},
    "too-much-time": {"predicted_ms": 1e9},
    "no-prompt-time": {"prompt_ms": 0},
    "number-of-401-digits": {"prompt_ms": 10**400},
    "count-of-401-digits": {"prompt_n": 10**400},
    "half-a-token": {"predicted_n": 8.5},
    "too-many": {"predicted_n": 10},
    "more-accepted-than-drafted": {"draft_n": 2, "draft_n_accepted": 3},
    "all-accepted": {"draft_n": 99, "draft_n_accepted": 99},
}
BROKEN_BODIES = {
    "no-json": "<html>",
    "deep": "[" * 100_000,
    "list": "[]",
    "no-text": json.dumps({"content": "\ud800", "stop_type": "limit", "timings": {}}),
    "nothing": "",
}
ANOTHER_STATUS = {"http-500": 500, "http-503": 503, "redirect": 302}
CUDA_FULL = """\
ggml_backend_cuda_buffer_type_alloc_buffer: allocating 7600.50 MiB on device 0: cudaMalloc failed: out of memory
alloc_tensor_range: failed to allocate CUDA0 buffer of size 7969701888
llama_model_load: error loading model: unable to allocate CUDA0 buffer"""
