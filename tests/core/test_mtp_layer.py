"""Whether a file has an MTP layer, and whether a build is too old for it: by headers, and by lines of real logs."""

import io

import pytest

from pytest_mtp.core.gguf_header import Header, read_header
from pytest_mtp.core.mtp_layer import explained, load_complaint, mtp_complaint
from tests.fakes import qwen36_27b
from tests.fakes.gguf_file import F32, Tensor, fields, gguf, tensors

TOO_OLD = "This build is too old for this file"
NO_MTP_LAYER = "This file has no MTP layer"


def header(
    said: dict[str, int] | None = None, *more: Tensor, without: str = "nothing", architecture: str = ""
) -> Header:
    kept = [one for one in tensors() if without not in one[0]]
    told = fields(**(said or {})) | ({"general.architecture": architecture} if architecture else {})
    data = gguf(told, [*kept, *more])
    return read_header(io.BytesIO(data), len(data))


SOUND = header()
STRIPPED = header(without="nextn")
CUT = header({"nextn_predict_layers": 0}, without="nextn")


@pytest.mark.parametrize("sound", [SOUND, qwen36_27b.header()])
def test_a_file_with_its_mtp_layer_has_no_complaint(sound: Header) -> None:
    assert mtp_complaint(sound) is None


def test_every_announced_layer_must_be_there() -> None:
    two = {"nextn_predict_layers": 2}
    assert "announces 2 and its tensors lack blk.0.nextn.eh_proj.weight" in str(mtp_complaint(header(two)))
    more = [(f"blk.0.nextn.{part}.weight", (32,), F32) for part in ("eh_proj", "enorm", "hnorm")]
    assert mtp_complaint(header(two, *more)) is None


@pytest.mark.parametrize("part", ["eh_proj", "enorm", "hnorm"])
def test_a_layer_without_one_of_its_own_tensors_is_none(part: str) -> None:
    said = str(mtp_complaint(header(without=part)))
    assert said.startswith(f"{NO_MTP_LAYER}: its header announces 1 and its tensors lack blk.1.nextn.{part}.weight")
    assert said.endswith("; choose a file that was made with its MTP layer, with --mtp-model.")


def test_a_file_that_was_made_without_the_layer_says_which_key_it_lacks() -> None:
    assert str(mtp_complaint(CUT)).startswith(f"{NO_MTP_LAYER}: its header has no qwen35.nextn_predict_layers above 0;")


def test_a_layer_that_is_not_announced_is_taken_for_one_of_the_trunk() -> None:
    said = str(mtp_complaint(header({"nextn_predict_layers": 0})))
    assert said.startswith("This file has the tensors of an MTP layer and not the key qwen35.nextn_predict_layers")


@pytest.mark.parametrize(
    "head",
    [
        header(without="token_embd"),
        header(
            {"nextn_predict_layers": 0}, ("nextn.pre_projection.weight", (32,), F32), architecture="gemma4-assistant"
        ),
    ],
)
def test_a_head_alone_is_no_model(head: Header) -> None:
    said = str(mtp_complaint(head))
    assert said.startswith(f"This file is an MTP head without its model (architecture {head.architecture})")
    assert "give the file of the whole model" in said


# The block of the MTP layer is number 1 here, as it is 40 and 64 in the models that people reported.
@pytest.mark.parametrize(
    ("log", "why"),
    [
        (
            "llama_model_load: error loading model: missing tensor 'blk.1.ssm_conv1d.weight'",
            "it takes the MTP layer for a layer of the trunk, and misses its blk.1.ssm_conv1d.weight",
        ),
        (
            "E llama_model_load: error loading model: check_tensor_dims: tensor 'blk.1.ssm_conv1d.weight' not found",
            "it takes the MTP layer for a layer of the trunk, and misses its blk.1.ssm_conv1d.weight",
        ),
        (
            "llama_model_load: error loading model: done_getting_tensors: wrong number of tensors; expected 5, got 2",
            "it knows 2 of its 5 tensors",
        ),
        (
            "llama_model_load: error loading model: error loading model architecture: "
            "unknown model architecture: 'qwen35'",
            "it does not know the architecture qwen35",
        ),
        (
            "W llama_init_from_model: context type MTP requested but model doesn't contain MTP layers\n"
            "E common_speculative_init_result: failed to create MTP context",
            "it has no MTP for the architecture qwen35",
        ),
        (
            "gguf_init_from_file_impl: tensor 'blk.0.ffn_up.weight' has invalid ggml type 41. should be in [0, 40)",
            "it does not know the quantization type 41",
        ),
        (
            "llama_model_load: error loading model: error loading model vocabulary: "
            "unknown pre-tokenizer type: 'qwen35'",
            "it does not know the tokenizer qwen35",
        ),
        (
            "gguf_init_from_file_impl: this GGUF file is version 4 but this software only supports up to version 3",
            "it reads GGUF up to version 3, and this is 4",
        ),
    ],
)
def test_a_build_that_is_too_old_for_a_sound_file_is_told_with_its_mend(log: str, why: str) -> None:
    assert load_complaint(SOUND, log) == f"{TOO_OLD} ({why}): build a newer llama.cpp with --mtp-source."


@pytest.mark.parametrize(
    ("model", "log"),
    [
        (CUT, "W llama_init_from_model: context type MTP requested but model doesn't contain MTP layers"),
        (STRIPPED, "E llama_model_load: error: check_tensor_dims: tensor 'blk.1.nextn.eh_proj.weight' not found"),
        (STRIPPED, "llama_model_load: error loading model: missing tensor 'blk.1.nextn.eh_proj.weight'"),
        (STRIPPED, "E llama_model_load: error: check_tensor_dims: tensor 'blk.1.ssm_conv1d.weight' not found"),
    ],
)
def test_a_file_without_the_layer_is_not_blamed_on_the_build(model: Header, log: str) -> None:
    assert load_complaint(model, log) == mtp_complaint(model)
    assert str(load_complaint(model, log)).startswith(NO_MTP_LAYER)


def test_a_tensor_that_is_missing_elsewhere_is_neither() -> None:
    said = load_complaint(SOUND, "error loading model: check_tensor_dims: tensor 'blk.0.attn_q.weight' not found")
    assert said is not None
    assert said.startswith("This build and this file do not fit: the build wants the tensor blk.0.attn_q.weight")


@pytest.mark.parametrize(
    "log",
    [
        "",
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 15518.72 MiB on device 0: cudaMalloc failed",
        "couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 8910",
        # A build may look for a tensor that it can do without.
        "tensor 'token_embd.weight' not found in the adapter",
        "W load_tensors: model has unused tensor blk.1.nextn.eh_proj.weight -- ignoring",
    ],
)
def test_another_end_is_not_explained(log: str) -> None:
    assert load_complaint(SOUND, log) is None
    assert explained("The mtp server died.", SOUND, log) == "The mtp server died."


def test_the_reason_comes_before_the_failure() -> None:
    log = "unknown model architecture: 'qwen35'"
    assert explained("The mtp server died.", SOUND, log) == f"{load_complaint(SOUND, log)}\nThe mtp server died."
    assert explained("The mtp server died.", None, log) == "The mtp server died."
