"""Headers of real phantoms, and bytes that no writer would make."""

import io
import struct
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from gguf import GGUFReader
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mtp.core.footprint import footprint
from pytest_mtp.core.gguf_header import Header, merged, read_header
from pytest_mtp.core.gguf_stream import Array
from pytest_mtp.core.mtp_layer import mtp_complaint
from pytest_mtp.core.server_spec import ServerSpec, Speculation
from pytest_mtp.errors import InputError
from pytest_mtp.phantom.spec import PhantomSpec
from pytest_mtp.phantom.writer import write
from tests.fakes.gguf_file import F32, Q8_0, Typed, Value, fields, gguf, small_model, split_model, tensors

PHANTOM = PhantomSpec(
    seed=7, layers=4, n_embd=128, n_ff=96, chain_length=20, weights="q8_0", wrong=(("code", 0.0), ("prose", 0.5))
)
SPEC = ServerSpec(model="m", ctx=512, gpu_layers=2, speculation=Speculation(n_max=3))
MODEL = small_model()


def read(data: bytes) -> Header:
    return read_header(io.BytesIO(data), len(data))


def refusal(data: bytes) -> str:
    with pytest.raises(InputError) as caught:
        read(data)
    return str(caught.value)


@pytest.fixture(scope="module", params=["q8_0", "f16"])
def phantom(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("phantom") / "phantom.gguf"
    write(replace(PHANTOM, weights=request.param), path)
    return path


def test_a_phantom_is_read_as_the_gguf_package_reads_it(phantom: Path) -> None:
    header, reader = read(phantom.read_bytes()), GGUFReader(phantom)
    assert [(one.name, one.shape, one.type, one.bytes) for one in header.tensors] == [
        (one.name, tuple(int(length) for length in one.shape), one.tensor_type.name, int(one.n_bytes))
        for one in reader.tensors
    ]
    told = {key: one.contents() for key, one in reader.fields.items() if not key.startswith("GGUF.")}
    assert header.fields.keys() == told.keys()
    for key, value in header.fields.items():
        if isinstance(value, Array):
            assert value.length == len(told[key])
        else:
            assert (list(value) if isinstance(value, tuple) else value) == told[key], key
    assert header.data_offset == reader.data_offset


def test_a_phantom_says_what_it_was_made_of(phantom: Path) -> None:
    header = read(phantom.read_bytes())
    assert (header.architecture, header.block_count, header.nextn_layers) == ("qwen35", 5, 1)
    assert header.number("embedding_length") == 128
    assert header.vocabulary == 256 + 3 + 2 + 2 * 20
    padded = [-(-(one.bytes or 0) // 32) * 32 for one in header.tensors]
    assert header.size == phantom.stat().st_size == header.data_offset + sum(padded)
    assert header.unknown_types == ()


def test_the_label_of_the_mix_is_the_files_own_or_the_type_of_most_numbers() -> None:
    assert read(gguf(fields() | {"general.file_type": 15}, tensors())).quantization == "Q4_K_M"
    assert read(gguf(fields() | {"general.file_type": 999}, tensors())).quantization == "Q8_0"
    assert read(gguf(fields(), tensors())).quantization == "Q8_0"
    assert read(gguf(fields())).quantization == "empty"


def test_an_embedding_that_is_no_table_has_no_tokens() -> None:
    assert read(gguf(fields(), [("token_embd.weight", (32,), F32)])).vocabulary == 0


def test_values_of_every_type_are_read() -> None:
    values: dict[str, tuple[Value | Typed, object]] = {
        "u8": (Typed(0, b"\xff"), 255),
        "i8": (Typed(1, b"\xff"), -1),
        "i64": (Typed(11, struct.pack("<q", -5)), -5),
        "f64": (Typed(12, struct.pack("<d", 0.1)), 0.1),
        "bool": (True, True),
        "text": ("Grüße", "Grüße"),
        "short": ([1, -2], (1, -2)),
        "long": (list(range(2000)), Array("i32", 2000)),
        "words": (["a", "b"], Array("string", 2)),
    }
    header = read(gguf(fields() | {key: said for key, (said, _) in values.items()}))
    assert {key: header.fields[key] for key in values} == {key: expected for key, (_, expected) in values.items()}


def test_a_number_for_each_block_is_told_once_or_block_by_block() -> None:
    assert read(gguf(fields(x=3))).per_block("x") == (3, 3)
    assert read(gguf(fields(x=[4, 0, 9]))).per_block("x") == (4, 0)
    assert read(gguf(fields(x=[4, -1]))).per_block("x") == (4, 0)
    assert read(gguf(fields())).per_block("x", absent=7) == (7, 7)


def test_a_type_that_is_newer_than_this_package_is_no_damage() -> None:
    header = read(gguf(fields(), [("token_embd.weight", (32, 5), 999)], offsets=[0]) + bytes(640))
    assert (header.tensors[0].type, header.tensors[0].bytes) == ("unknown type 999", None)
    assert header.unknown_types == ("unknown type 999",)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", r"begins with b'' and not with b'GGUF'.*not a web page, an archive or a pointer"),
        (b"<!DOCTYPE html>", r"is not a GGUF file: it begins with b'<!DO'"),
        (b"version https://git-lfs", "is not a GGUF file"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "is a big-endian GGUF file; convert it"),
        (gguf(fields(), version=1), "is GGUF version 1; versions 2 and 3 can be read"),
        (gguf(fields(), version=4), "is GGUF version 4; .*update pytest-mtp"),
        (gguf([("a", 1), ("a", 2)]), "the field 'a' is in its header twice"),
        (gguf(fields(), [("t", (1,), F32)] * 2), "the tensor 't' is in its header twice"),
        (gguf(fields() | {"a": Typed(99, b"")}), "a value of the unknown type 99"),
        (gguf(fields() | {"a": Typed(9, struct.pack("<IQ", 9, 1))}), "a value of the unknown type 9"),
        (gguf(fields(), [("t", (1, 1, 1, 1, 1), F32)]), "its tensor 't' has 5 dimensions"),
        (gguf(fields(), [("t", (33, 2), Q8_0)]), "a row of its tensor 't' has 33 numbers, and Q8_0 .* blocks of 32"),
        (gguf(fields() | {"general.alignment": 24}), "its alignment is 24, which is no power of two"),
        (gguf({"a": 1}), "does not say the architecture of its model"),
        (gguf(fields(block_count=1 << 31)), "it announces 2147483648 blocks"),
        (gguf(fields(nextn_predict_layers=3)), "it announces 2 blocks with 3 MTP layers among them"),
        (
            gguf(fields(), [("t", (64,), F32)], offsets=[4096]),
            "has .* bytes, and its tensors need .* Download it again",
        ),
        (gguf(fields() | {"split.count": 3}), "it says that it is part of no number of 3"),
        (gguf(fields() | {"split.count": 3, "split.no": 3}), "it says that it is part 4 of 3"),
    ],
)
def test_what_is_no_whole_header_is_refused_in_a_sentence(data: bytes, why: str) -> None:
    with pytest.raises(InputError, match=why):
        read(data)


def test_a_file_that_ends_early_is_called_truncated_wherever_it_ends() -> None:
    said = [refusal(MODEL[:length]) for length in range(len(MODEL))]
    assert all("is not a GGUF file" in one for one in said[:4])
    assert all("is truncated" in one and "Download it again" in one for one in said[4:])


def test_the_last_byte_is_all_that_a_whole_file_needs() -> None:
    assert read(MODEL).tensors[-1].name == "blk.1.nextn.hnorm.weight"


def test_a_file_that_shrinks_while_it_is_read_is_named() -> None:
    with pytest.raises(InputError, match="it was changed meanwhile"):
        read_header(io.BytesIO(MODEL[:100]), len(MODEL))


@pytest.mark.parametrize(
    "data",
    [
        b"GGUF" + struct.pack("<IQQ", 3, 1 << 62, 1),
        b"GGUF" + struct.pack("<IQQ", 3, 1, 1 << 62),
        gguf(fields() | {"a": Typed(9, struct.pack("<IQ", 4, 1 << 62))}),
        gguf(fields() | {"a": Typed(9, struct.pack("<IQ", 8, 1 << 62))}),
        gguf(fields() | {"a": Typed(8, struct.pack("<Q", 1 << 62))}),
        gguf({"a" * 70_000: 1}),
    ],
)
def test_a_huge_number_takes_no_memory(data: bytes) -> None:
    tracemalloc.start()
    try:
        refusal(data)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 1 << 20


def test_a_damaged_length_does_not_read_the_model_into_memory(tmp_path: Path) -> None:
    path, size = tmp_path / "sparse.gguf", 1 << 40
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + gguf({"a": Typed(8, struct.pack("<Q", 1 << 33))})[24:])
    with path.open("r+b") as stream:
        stream.truncate(size)
        with pytest.raises(InputError, match=f"a text of {1 << 33} bytes"):
            read_header(stream, size)
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 1 << 35, 0))
    with path.open("r+b") as stream:
        stream.truncate(size)
        with pytest.raises(InputError, match=f"it announces {1 << 35} tensors"):
            read_header(stream, size)


def test_the_parts_of_a_split_model_are_joined_in_any_order() -> None:
    parts = [read(data) for data in split_model(3)]
    whole = merged(list(reversed(parts)))
    assert {one.name for one in whole.tensors} == {name for name, _, _ in tensors()}
    assert (whole.part, whole.parts, whole.architecture) == (None, 3, "qwen35")
    assert whole.size == sum(len(data) for data in split_model(3))
    assert parts[1].architecture is None


@pytest.mark.parametrize(
    ("chosen", "why"),
    [
        ((0, 2), r"Big is split into 3 files, and not all of them are there \(only 1, 3\)"),
        ((1, 2), r"only 2, 3"),
        ((0, 1, 1, 2), r"only 1, 2, 2, 3"),
        ((), "only none"),
    ],
)
def test_a_part_that_is_missing_or_there_twice_is_told(chosen: tuple[int, ...], why: str) -> None:
    parts = [read(data) for data in split_model(3)]
    with pytest.raises(InputError, match=why):
        merged([parts[one] for one in chosen], name="Big")


def test_parts_that_do_not_belong_together_are_told() -> None:
    first, second = (read(data) for data in split_model(2))
    with pytest.raises(InputError, match="has 3 tensors in its 2 files, and announces 5"):
        merged([first, replace(second, tensors=())])
    with pytest.raises(InputError, match="two of its 2 files have a tensor of the same name"):
        merged([first, replace(second, tensors=first.tensors[:2])])
    with pytest.raises(InputError, match="not all of them are there"):
        merged([first, replace(second, parts=3)])


def test_a_model_that_was_joined_by_llama_cpp_is_a_whole_one() -> None:
    header = read(gguf(fields() | {"split.count": 0, "split.no": 0}, tensors()))
    assert (header.parts, header.part) == (1, None)
    assert merged([header]) is header


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A small file, cut or with up to three bytes changed."""
    data = bytearray(draw(st.sampled_from([MODEL, *split_model(2)])))
    # The tensors are zeros that nobody reads.
    for place in draw(st.lists(st.integers(0, min(len(data), 700) - 1), max_size=3)):
        data[place] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)))]) if draw(st.booleans()) else bytes(data)


@given(damaged())
@settings(max_examples=500, deadline=None)
def test_any_damage_gives_a_header_that_can_be_computed_with_or_an_input_error(data: bytes) -> None:
    try:
        header = read(data)
    except InputError:
        return
    mtp_complaint(header)
    assert all(tensor.numbers >= 0 for tensor in header.tensors)
    assert header.quantization
    assert footprint(header, SPEC).whole.total >= 0
