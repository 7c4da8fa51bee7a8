"""What builds of llama-server offer, as captured or made up, and servers to be asked of them."""

from dataclasses import replace
from pathlib import Path

from pytest_mtp.core.capabilities import Capabilities, parse_help
from pytest_mtp.core.server_spec import ServerSpec, Speculation

DATA = Path(__file__).parent / "core" / "data"
PLAIN = ServerSpec(model="model.gguf", ctx=4096, gpu_layers=99)
MTP = replace(PLAIN, speculation=Speculation(n_max=3, p_min=0.0))
FULL = replace(
    PLAIN,
    alias="a",
    threads=2,
    batch=512,
    ubatch=256,
    cache_type_k="q8_0",
    cache_type_v="q4_0",
    temp=0.8,
    top_k=20,
    top_p=0.95,
    repeat_penalty=1.5,
    speculation=Speculation(3, 0.25, draft_model="d.gguf"),
)

NUMBERS = ("--draft-max N                           drafts", "--draft-p-min P                         probability")
REQUIRED = """\
-m, --model FNAME                       model path
-c, --ctx-size N                        context
-ngl, --gpu-layers N                    layers
-np, --parallel N                       slots
--metrics                               metrics
--host HOST                             host
--port PORT                             port
"""


def captured(build: str) -> Capabilities:
    return parse_help((DATA / f"help-{build}.txt").read_text())


def offering(*rows: str) -> Capabilities:
    return parse_help(REQUIRED + "\n".join(rows))


def of_kinds(*kinds: str, draft_model: str | None = None) -> ServerSpec:
    return replace(PLAIN, speculation=Speculation(3, kinds=kinds, draft_model=draft_model))
