"""The parts of a server's memory, against sums done by hand."""

from dataclasses import replace
from math import prod

import pytest

from pytest_mtp.core.footprint import Footprint, Habits, Place, footprint
from pytest_mtp.core.gguf_header import Header, HeaderTensor
from pytest_mtp.core.gguf_stream import Value
from pytest_mtp.core.server_spec import ServerSpec, Speculation
from pytest_mtp.errors import SettingsError
from pytest_mtp.runtime.profiles import load_profile
from tests.fakes import qwen36_27b

MIB = 2**20
ALL_LAYERS = 99
DRAFTING = Speculation(n_max=3)

# Four trunk blocks, of which the last is attention, and an MTP block.
HYBRID: dict[str, Value] = {
    "block_count": 5,
    "nextn_predict_layers": 1,
    "embedding_length": 512,
    "feed_forward_length": 2048,
    "attention.head_count": 8,
    "attention.head_count_kv": 2,
    "attention.key_length": 64,
    "attention.value_length": 64,
    "ssm.conv_kernel": 4,
    "ssm.state_size": 64,
    "ssm.group_count": 4,
    "ssm.inner_size": 512,
}
DENSE = {key: value for key, value in HYBRID.items() if not key.startswith("ssm.")}


def tensor(name: str, *shape: int) -> HeaderTensor:
    return HeaderTensor(name, shape, "F16", 2 * prod(shape))


TENSORS = (
    tensor("token_embd.weight", 512, 1000),
    tensor("output.weight", 512, 1000),
    *(tensor(f"blk.{block}.ffn_up.weight", 512, 2048) for block in range(5)),
    tensor("blk.4.nextn.eh_proj.weight", 1024, 512),
)


def header(
    fields: dict[str, Value], architecture: str = "qwen35", tensors: tuple[HeaderTensor, ...] = TENSORS
) -> Header:
    told = {f"{architecture}.{key}": value for key, value in fields.items()}
    return Header(
        fields={"general.architecture": architecture} | told, tensors=tensors, alignment=32, data_offset=0, size=0
    )


def server(**more: object) -> ServerSpec:
    return replace(ServerSpec(model="m", ctx=8192, gpu_layers=ALL_LAYERS), **more)  # type: ignore[arg-type]


def parts(of: Footprint) -> dict[str, Place]:
    names = ("weights", "kv", "recurrent", "draft_kv", "compute", "draft_compute")
    return {name: getattr(of, name) for name in names}


@pytest.mark.parametrize(
    ("cache_type", "bytes_per_value"),
    [(None, 2.0), ("f16", 2.0), ("bf16", 2.0), ("f32", 4.0), ("q8_0", 34 / 32), ("q4_0", 18 / 32), ("Q4_1", 20 / 32)],
)
def test_a_cache_is_cells_by_layers_by_heads_by_head_size_by_bytes_of_a_value(
    cache_type: str | None, bytes_per_value: float
) -> None:
    found = footprint(header(DENSE), server(ctx=100_000, cache_type_k=cache_type, cache_type_v=cache_type))
    cells, layers, heads, head_size, sides = 100_096, 4, 2, 64, 2  # 100,000 rounded up to a multiple of 256
    assert found.kv == Place(int(cells * layers * heads * head_size * bytes_per_value * sides), 0)


def test_keys_and_values_have_a_type_and_a_width_each() -> None:
    fields = DENSE | {"attention.key_length": 128, "attention.value_length": 32}
    found = footprint(header(fields), server(cache_type_k="q8_0", cache_type_v="f16"))
    assert found.kv.total == 8192 * 4 * 2 * (128 * 34 // 32 + 32 * 2)


def test_latent_attention_caches_one_compressed_row() -> None:
    fields = DENSE | {"attention.key_length": 576, "attention.key_length_mla": 192, "attention.head_count_kv": 1}
    assert footprint(header(fields, "deepseek2"), server()).kv.total == 8192 * 4 * 576 * 2


def test_blocks_may_have_heads_of_their_own_number() -> None:
    found = footprint(header(DENSE | {"attention.head_count_kv": (2, 0, 4, 0, 8)}), server(speculation=DRAFTING))
    assert (found.kv.total, found.draft_kv.total) == (8192 * (2 + 4) * 64 * 2 * 2, 8192 * 8 * 64 * 2 * 2)


@pytest.mark.parametrize(
    ("slots", "ctx", "cells"), [(1, 1, 256), (1, 512, 512), (2, 1024, 1024), (3, 1024, 3 * 512), (2, 1000, 1024)]
)
def test_each_slot_gets_a_share_of_the_context_that_is_rounded_up(slots: int, ctx: int, cells: int) -> None:
    assert footprint(header(DENSE), server(ctx=ctx, parallel=slots)).kv.total == cells * 4 * 2 * 64 * 2 * 2


@pytest.mark.parametrize(
    ("speculation", "slots", "states"), [(None, 1, 1), (None, 3, 3), (DRAFTING, 1, 4), (Speculation(n_max=5), 2, 12)]
)
def test_a_recurrent_layer_keeps_a_state_for_each_slot_and_each_drafted_token(
    speculation: Speculation | None, slots: int, states: int
) -> None:
    found = footprint(header(HYBRID), server(speculation=speculation, parallel=slots))
    convolution, delta = 3 * (512 + 2 * 4 * 64), 64 * 512
    assert found.recurrent.total == 3 * (convolution + delta) * states * 4


def test_a_family_that_cannot_go_back_keeps_one_state() -> None:
    fields = HYBRID | {"full_attention_interval": 4}
    alone, drafting = (footprint(header(fields, "qwen3next"), server(speculation=one)) for one in (None, DRAFTING))
    assert alone.recurrent == drafting.recurrent != Place()


@pytest.mark.parametrize(("interval", "attention"), [({}, 1), ({"full_attention_interval": 2}, 2)])
def test_only_the_attention_layers_of_a_hybrid_have_a_cache(interval: dict[str, Value], attention: int) -> None:
    found = footprint(header(HYBRID | interval), server())
    assert found.kv.total == 8192 * attention * 2 * 64 * 2 * 2
    assert found.recurrent.total == (4 - attention) * (3 * 1024 + 64 * 512) * 4


def test_the_mtp_arm_takes_the_head_and_its_work_beside_what_the_plain_arm_takes() -> None:
    plain, mtp = (parts(footprint(header(HYBRID), server(speculation=one))) for one in (None, DRAFTING))
    assert mtp["weights"].total - plain["weights"].total == 2 * (512 * 2048 + 1024 * 512)
    assert mtp["kv"] == plain["kv"]
    assert (plain["draft_kv"], plain["draft_compute"]) == (Place(), Place())
    assert mtp["draft_kv"].total == 8192 * 2 * 64 * 2 * 2
    assert mtp["draft_compute"].device > 0


def test_builds_before_b10405_hold_the_head_in_both_arms() -> None:
    old = Habits(head_always_loaded=True)
    plain, mtp = (footprint(header(HYBRID), server(speculation=one), old) for one in (None, DRAFTING))
    assert plain.weights == mtp.weights


def test_old_builds_keep_room_for_the_logits_of_a_whole_ubatch() -> None:
    wide = header(HYBRID, tensors=(tensor("token_embd.weight", 512, 250_000),))
    old = footprint(wide, server(), Habits(logits_per_token=True))
    assert old.compute.total == 512 * (250_000 + 512) * 4 + 512 * 8192 * 2
    assert footprint(wide, server()).compute.total < old.compute.total / 10


@pytest.mark.parametrize("flag", ["-ctkd", "--cache-type-k-draft", "--spec-draft-type-k"])
def test_the_drafts_cache_is_f16_until_a_flag_of_its_own_says_otherwise(flag: str) -> None:
    def draft_kv(*extra: str) -> int:
        spec = server(cache_type_k="q8_0", cache_type_v="q8_0", speculation=Speculation(n_max=3, extra=extra))
        return footprint(header(HYBRID), spec).draft_kv.total

    values = 8192 * 2 * 64
    assert draft_kv() == values * 4
    assert draft_kv(flag, "q4_0") == values * 2 + values * 18 // 32


def test_layers_are_offloaded_from_the_end_and_the_embedding_never() -> None:
    matrix, table = 2 * 512 * 2048, 2 * 512 * 1000
    weights = [footprint(header(DENSE), server(gpu_layers=layers)).weights for layers in (0, 1, 3, 6, 99)]
    assert [one.device for one in weights] == [0, table, table + matrix, table + 4 * matrix, table + 4 * matrix]
    assert {one.total for one in weights} == {2 * table + 4 * matrix}


def test_caches_and_states_lie_where_their_layers_do_and_buffers_where_the_output_does() -> None:
    found = parts(footprint(header(HYBRID), server(gpu_layers=2, speculation=DRAFTING)))
    on_device = {name for name, place in found.items() if place.device}
    assert on_device == {"weights", "draft_kv", "compute", "draft_compute"}
    # The last block of the trunk is the one with attention.
    deeper = footprint(header(HYBRID), server(gpu_layers=3, speculation=DRAFTING))
    assert (deeper.kv.host, deeper.recurrent.device) == (0, 0)
    on_host = footprint(header(HYBRID), server(gpu_layers=0, speculation=DRAFTING))
    assert (on_host.device, on_host.host) == (0, on_host.whole.total)


def test_an_embedding_that_is_the_output_too_lies_on_both_sides() -> None:
    tied = tuple(one for one in TENSORS if one.name != "output.weight")
    weights = footprint(header(DENSE, tensors=tied), server()).weights
    assert weights == Place(2 * 512 * 1000 + 4 * 2 * 512 * 2048, 2 * 512 * 1000)


def test_a_compute_buffer_grows_by_the_mask_with_the_context() -> None:
    small, large = (footprint(header(HYBRID), server(ctx=cells)).compute.total for cells in (8192, 16384))
    assert large - small == 512 * 8192 * 2


def test_without_flash_attention_the_mask_is_wider_and_the_scores_of_all_heads_are_kept() -> None:
    found = footprint(header(HYBRID), server(flash_attn="off")).compute.total
    attention, scores, mask = 4 * 512 + 3 * 512 + 2 * 128, 8 * 8192, 8192
    assert found == 512 * 4 * (attention + scores + mask)


@pytest.mark.parametrize(
    ("more", "tokens"), [({}, 512), ({"ubatch": 128}, 128), ({"batch": 64}, 64), ({"ctx": 300, "ubatch": 2048}, 300)]
)
def test_no_more_is_computed_at_once_than_every_limit_allows(more: dict[str, object], tokens: int) -> None:
    spec = server(**more)
    cells = -(-spec.ctx // 256) * 256
    widest = 5 * 512 + 3 * 2048
    assert footprint(header(DENSE), spec).compute.total == tokens * (widest * 4 + cells * 2)


def test_a_cache_type_of_unknown_size_is_refused() -> None:
    with pytest.raises(SettingsError, match="The cache type 'turbo3' is not one whose size is known; use f16, q8_0"):
        footprint(header(DENSE), server(cache_type_v="turbo3"))


@pytest.mark.parametrize(
    ("fields", "architecture", "kind", "flash", "why"),
    [
        (
            DENSE | {"expert_count": 8},
            "qwen35moe",
            "F16",
            "on",
            "the compute buffer of a mixture of experts is a guess",
        ),
        (HYBRID, "lfm2", "F16", "on", "the recurrent blocks of lfm2 are guessed from their heads"),
        (DENSE | {"attention.sliding_window": 9}, "gemma4", "F16", "on", "a sliding window are counted as full ones"),
        (DENSE | {"attention.indexer.key_length": 9}, "glm-dsa", "F16", "on", "attention's indexer is not counted"),
        (DENSE, "qwen35", "unknown type 99", "on", "tensors of unknown type 99 are not counted"),
        (DENSE, "qwen35", "F16", "auto", "flash attention is taken to be on"),
    ],
)
def test_what_the_header_cannot_tell_is_said(
    fields: dict[str, Value], architecture: str, kind: str, flash: str, why: str
) -> None:
    strange = HeaderTensor("blk.0.strange", (32,), kind, 64 if kind == "F16" else None)
    made = header(fields | {"attention.head_count_kv": (2, 0, 2, 2, 2)}, architecture, (*TENSORS, strange))
    assert [one for one in footprint(made, server(flash_attn=flash)).assumed if why in one]


def test_of_a_known_shape_nothing_is_assumed() -> None:
    assert footprint(header(HYBRID), server(speculation=DRAFTING)).assumed == ()


def of_the_27b(cache_type: str, *, speculative: bool = True) -> Footprint:
    spec = load_profile("rtx3090-qwen3.6-27b").server_spec("n3", model="m", speculative=speculative)
    return footprint(qwen36_27b.header(), replace(spec, cache_type_k=cache_type, cache_type_v=cache_type))


def test_the_header_of_the_27b_is_as_large_as_the_published_file() -> None:
    made = qwen36_27b.header()
    assert (len(made.tensors), made.quantization, made.nextn_layers) == (866, "Q4_K_M", 1)
    assert sum(one.bytes or 0 for one in made.tensors) == qwen36_27b.WEIGHT_BYTES
    assert made.data_offset % made.alignment == 0


@pytest.mark.parametrize(("cache_type", "kv_mib"), [("f16", 6256.0), ("q8_0", 3323.5)])
def test_the_27b_at_100000_tokens_part_by_part(cache_type: str, kv_mib: float) -> None:
    found = of_the_27b(cache_type)
    # 100,096 cells, 16 of 64 layers with 4 heads of 256, keys and values; the MTP layer's cache stays f16.
    assert found.kv == Place(int(kv_mib * MIB), 0)
    assert found.draft_kv.device == 391 * MIB
    assert found.recurrent.device == round(598.5 * MIB)  # as servers log it for three drafts
    assert found.weights.host == 5120 * 248_320 * 144 // 256


@pytest.mark.parametrize(
    ("cache_type", "speculative", "mib"),
    [("q8_0", True, 20_247), ("q8_0", False, 18_811), ("f16", True, 23_180), ("f16", False, 21_744)],
)
def test_the_27b_needs_this_much_of_a_card(cache_type: str, speculative: bool, mib: int) -> None:  # noqa: FBT001 - a parameter of the test
    assert round(of_the_27b(cache_type, speculative=speculative).device / MIB) == mib
