"""Write the phantom: a qwen35 GGUF that costs what a real model costs and says what a table says."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mtp.errors import ModelError
from pytest_mtp.phantom.spec import ATTENTION_INTERVAL, HEAD_DIM, PhantomSpec
from pytest_mtp.phantom.tensors import CONV_KERNEL, Tensor, groups, heads, heads_kv, tensors
from pytest_mtp.phantom.vocabulary import MERGE, Vocabulary

if TYPE_CHECKING:
    from gguf import GGUFWriter

_ARCH = "qwen35"
_CONTEXT_LENGTH = 32768
_ROPE_SECTIONS = (3, 3, 2, 0)  # half of the rotated quarter of a head, divided as in the real models


def write(spec: PhantomSpec, path: Path, progress: Callable[[str], None] | None = None) -> None:
    """Write the file; the same ``spec`` gives the same bytes. ``ModelError`` when ``path`` cannot be written."""
    from gguf import GGUFWriter
    from numpy import dtype

    planned = tensors(spec)
    writer = GGUFWriter(path, _ARCH)
    _describe(writer, spec)
    _spell(writer, Vocabulary(spec))
    for tensor in planned:
        writer.add_tensor_info(tensor.name, tensor.shape, dtype("f4"), tensor.stored_bytes(), tensor.stored_as())
    try:
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        # One tensor at a time: a phantom may be larger than the memory of the machine that writes it.
        for tensor in _reported(planned, progress or (lambda _: None)):
            writer.write_tensor_data(tensor.data())
        writer.close()
    except OSError as error:
        raise ModelError(
            f"The phantom cannot be written to {path}: {error}.\n"
            "Free some space there, or name another --mtp-cache-dir."
        ) from error


def _describe(writer: "GGUFWriter", spec: PhantomSpec) -> None:
    """State the size of the model, as the loader wants it."""
    writer.add_name(f"phantom {spec.identity}")
    writer.add_file_type({"f16": 1, "q8_0": 7}[spec.weights])
    writer.add_quantization_version(2)
    for key, value in {
        "context_length": _CONTEXT_LENGTH,
        "embedding_length": spec.n_embd,
        "block_count": spec.layers + 1,
        "nextn_predict_layers": 1,
        "feed_forward_length": spec.n_ff,
        "attention.head_count": heads(spec),
        "attention.head_count_kv": heads_kv(spec),
        "attention.key_length": HEAD_DIM,
        "attention.value_length": HEAD_DIM,
        "full_attention_interval": ATTENTION_INTERVAL,
        "rope.dimension_count": 2 * sum(_ROPE_SECTIONS),
        "ssm.conv_kernel": CONV_KERNEL,
        "ssm.state_size": HEAD_DIM,
        "ssm.group_count": groups(spec),
        "ssm.time_step_rank": heads(spec),
        "ssm.inner_size": heads(spec) * HEAD_DIM,
    }.items():
        writer.add_uint32(f"{_ARCH}.{key}", value)
    writer.add_array(f"{_ARCH}.rope.dimension_sections", _ROPE_SECTIONS)
    writer.add_float32(f"{_ARCH}.rope.freq_base", 1e7)
    writer.add_float32(f"{_ARCH}.attention.layer_norm_rms_epsilon", 1e-6)


def _spell(writer: "GGUFWriter", vocabulary: Vocabulary) -> None:
    """State the tokenizer: byte-level BPE whose class tokens are matched whole and whose words nobody types."""
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen35")
    writer.add_token_list(vocabulary.texts())
    writer.add_token_types(vocabulary.kinds())
    writer.add_token_merges([" ".join(MERGE)])
    writer.add_eos_token_id(vocabulary.eos)
    writer.add_bos_token_id(vocabulary.bos)
    writer.add_add_bos_token(value=False)


def _reported(planned: list[Tensor], progress: Callable[[str], None]) -> Iterator[Tensor]:
    """Hand on each tensor, with a word about the way so far at every tenth of it."""
    total, done, tenths = sum(tensor.stored_bytes() for tensor in planned), 0, 0
    for tensor in planned:
        yield tensor
        done += tensor.stored_bytes()
        if 10 * done // total > tenths:
            tenths = 10 * done // total
            progress(f"phantom: {done / 1e6:.1f} of {total / 1e6:.1f} MB written")
