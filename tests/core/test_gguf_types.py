"""The tables of types, against those of the gguf package."""

import pytest
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, LlamaFileType

from pytest_mtp.core.gguf_types import FILE_TYPES, TENSOR_TYPES, type_name, type_named

KNOWN = [kind for kind in GGMLQuantizationType if kind in GGML_QUANT_SIZES]


@pytest.mark.parametrize("kind", KNOWN, ids=lambda kind: kind.name)
def test_every_type_of_the_package_is_known_with_its_block(kind: GGMLQuantizationType) -> None:
    stored = TENSOR_TYPES[int(kind)]
    assert (stored.name, stored.block, stored.block_bytes) == (kind.name, *GGML_QUANT_SIZES[kind])


def test_the_labels_of_mixes_are_those_of_the_package() -> None:
    theirs = {int(kind): kind.name.removeprefix("MOSTLY_").removeprefix("ALL_") for kind in LlamaFileType}
    assert {number: label for number, label in FILE_TYPES.items() if theirs.get(number, label) != label} == {}


def test_a_type_is_found_by_its_number_and_by_the_word_of_a_flag() -> None:
    assert (type_name(12), type_name(999)) == ("Q4_K", "unknown type 999")
    assert type_named("q8_0") is TENSOR_TYPES[8]
    assert type_named("turbo3") is None
