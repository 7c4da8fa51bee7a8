from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGUFReader
from gguf.quants import dequantize

from pytest_mtp.errors import ModelError
from pytest_mtp.phantom.spec import PhantomSpec, parse_head
from pytest_mtp.phantom.vocabulary import Vocabulary
from pytest_mtp.phantom.writer import write

SPEC = PhantomSpec(
    seed=7,
    layers=4,
    n_embd=64,
    n_ff=64,
    chain_length=20,
    weights="q8_0",
    wrong=(("code", 0.0), ("prose", 0.5)),
)
BROKEN = replace(SPEC, head=parse_head("broken"))
HEAD = "blk.4.nextn.shared_head_head.weight"


def written(spec: PhantomSpec, folder: Path) -> Path:
    path = folder / f"{spec.identity}-{spec.head}.gguf"
    write(spec, path)
    return path


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> GGUFReader:
    return GGUFReader(written(SPEC, tmp_path_factory.mktemp("sound")))


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> GGUFReader:
    return GGUFReader(written(BROKEN, tmp_path_factory.mktemp("broken")))


def values(reader: GGUFReader, name: str) -> np.ndarray[Any, Any]:
    tensor = next(tensor for tensor in reader.tensors if tensor.name == name)
    return dequantize(tensor.data, tensor.tensor_type)


def field(reader: GGUFReader, key: str) -> object:
    found = reader.get_field(key)
    assert found is not None, f"no {key}"
    return found.contents()


def answers(reader: GGUFReader, table: str, least_margin: float) -> dict[int, int]:
    """The winning row for the embedding of each class token and word; none may win by less."""
    asked = range(Vocabulary(SPEC).class_token(0), Vocabulary(SPEC).word(1, 19) + 1)
    logits = values(reader, "token_embd.weight")[asked] @ values(reader, table).T
    ranked = np.sort(logits, axis=1)
    assert (ranked[:, -1] - ranked[:, -2]).min() > least_margin
    return dict(zip(asked, logits.argmax(axis=1).tolist(), strict=True))


def hashes(reader: GGUFReader) -> dict[str, str]:
    return {tensor.name: sha256(tensor.data.tobytes()).hexdigest() for tensor in reader.tensors}


def test_the_same_phantom_is_the_same_file_to_the_byte(tmp_path: Path) -> None:
    first, again = tmp_path / "first", tmp_path / "again"
    write(SPEC, first)
    write(SPEC, again)
    assert first.read_bytes() == again.read_bytes()


def test_the_weights_are_what_they_were_in_every_version(sound: GGUFReader) -> None:
    # Where this fails the model is another one: give it the next WRITER_VERSION, then the new hash.
    together = sha256("".join(hashes(sound).values()).encode()).hexdigest()
    assert together == "aeaaa4467c0a6aa04c0e04131ad2db7f5c3f2f1542ce522dfe35d4e32df149a9"


def test_another_seed_is_another_model(sound: GGUFReader, tmp_path: Path) -> None:
    other = GGUFReader(written(replace(SPEC, seed=8), tmp_path))
    assert hashes(other)["blk.0.attn_qkv.weight"] != hashes(sound)["blk.0.attn_qkv.weight"]


def test_a_tensor_does_not_depend_on_the_tensors_before_it(sound: GGUFReader, tmp_path: Path) -> None:
    wider = hashes(GGUFReader(written(replace(SPEC, n_ff=128), tmp_path)))
    assert wider["blk.3.attn_q.weight"] == hashes(sound)["blk.3.attn_q.weight"]


def test_no_two_matrices_have_the_same_noise(sound: GGUFReader) -> None:
    noise = {hashes(sound)[f"blk.{block}.ffn_{kind}.weight"] for block in range(5) for kind in ("gate", "up")}
    assert len(noise) == 10


def test_a_fault_changes_the_head_and_nothing_else(sound: GGUFReader, broken: GGUFReader) -> None:
    good, bad = hashes(sound), hashes(broken)
    assert [name for name in good if good[name] != bad[name]] == [HEAD]


def test_the_file_says_that_it_has_one_mtp_layer_after_the_trunk(sound: GGUFReader) -> None:
    assert field(sound, "general.architecture") == "qwen35"
    assert field(sound, "qwen35.nextn_predict_layers") == 1
    assert field(sound, "qwen35.block_count") == 5


def test_the_trunk_is_three_recurrent_blocks_to_one_of_attention(sound: GGUFReader) -> None:
    names = {tensor.name for tensor in sound.tensors}
    assert [f"blk.{block}.ssm_conv1d.weight" in names for block in range(5)] == [True, True, True, False, False]
    assert [f"blk.{block}.attn_k.weight" in names for block in range(5)] == [False, False, False, True, True]
    # Their absence is a crash of the server without a message.
    assert {f"blk.{block}.attn_{kind}.weight" for block in range(3) for kind in ("qkv", "gate")} <= names


def test_what_writes_to_the_residual_stream_is_zero_and_what_costs_is_not(sound: GGUFReader) -> None:
    for tensor in sound.tensors:
        silent = any(part in tensor.name for part in ("ssm_out", "attn_output", "ffn_down"))
        assert bool(np.any(values(sound, tensor.name))) is not silent, tensor.name


def test_the_mtp_block_takes_the_embedding_and_ignores_the_hidden_state(sound: GGUFReader) -> None:
    projection = values(sound, "blk.4.nextn.eh_proj.weight")
    assert projection.shape == (64, 128)
    assert np.allclose(projection, np.eye(64, 128), atol=1e-3)


def test_greedy_decoding_walks_every_chain(sound: GGUFReader) -> None:
    assert answers(sound, "output.weight", least_margin=5) == Vocabulary(SPEC).followers()


def test_the_head_guesses_the_follower_but_where_it_is_wrong(sound: GGUFReader) -> None:
    vocabulary, guesses = Vocabulary(SPEC), answers(sound, HEAD, least_margin=3)
    for number, chain in enumerate(SPEC.chains()):
        for place, wrong in enumerate(chain.wrong):
            guess = guesses[vocabulary.word(number, place)]
            assert (guess != vocabulary.word(number, place + 1)) is wrong


def test_a_broken_head_never_guesses_the_follower(broken: GGUFReader) -> None:
    followers, guesses = Vocabulary(SPEC).followers(), answers(broken, HEAD, least_margin=3)
    words = range(Vocabulary(SPEC).word(0, 0), Vocabulary(SPEC).word(1, 19) + 1)
    assert not [word for word in words if guesses[word] == followers[word]]


def test_each_class_has_a_token_and_readable_words(sound: GGUFReader) -> None:
    tokens = field(sound, "tokenizer.ggml.tokens")
    assert isinstance(tokens, list)
    assert tokens[259:261] == ["<|code|>", "<|prose|>"]
    assert (tokens[261], tokens[280], tokens[281], tokens[-1]) == ("Ġcode-00", "Ġcode-19", "Ġprose-00", "Ġprose-19")
    assert len(set(tokens)) == len(tokens) == len(values(sound, "token_embd.weight"))


def test_class_tokens_are_found_in_a_prompt_and_eos_is_no_part_of_a_chain(sound: GGUFReader) -> None:
    kinds, tokens = field(sound, "tokenizer.ggml.token_type"), field(sound, "tokenizer.ggml.tokens")
    assert isinstance(kinds, list)
    assert isinstance(tokens, list)
    assert [token for token, kind in zip(tokens, kinds, strict=True) if kind == 4] == ["<|code|>", "<|prose|>"]
    eos = field(sound, "tokenizer.ggml.eos_token_id")
    assert eos not in Vocabulary(SPEC).followers().values()
    assert tokens[257:259] == ["<|phantom.eos|>", "<|phantom.bos|>"]


def test_bytes_are_spelled_as_byte_level_bpe_does(sound: GGUFReader) -> None:
    tokens = field(sound, "tokenizer.ggml.tokens")
    assert isinstance(tokens, list)
    assert [tokens[byte] for byte in (0, 10, 32, 65, 127, 173, 255)] == ["Ā", "Ċ", "Ġ", "A", "ġ", "Ń", "ÿ"]
    assert len(set(tokens[:256])) == 256


@pytest.mark.parametrize(("weights", "kind"), [("q8_0", "Q8_0"), ("f16", "F16")])
def test_big_matrices_are_stored_as_asked_and_small_ones_exactly(weights: str, kind: str, tmp_path: Path) -> None:
    reader = GGUFReader(written(replace(SPEC, weights=weights), tmp_path))
    kinds = {tensor.name: tensor.tensor_type.name for tensor in reader.tensors}
    assert kinds["blk.0.ffn_up.weight"] == kinds["token_embd.weight"] == kinds[HEAD] == kind
    assert kinds["blk.0.ssm_conv1d.weight"] == kinds["output_norm.weight"] == kinds["blk.0.ssm_a"] == "F32"


def test_progress_is_told_up_to_the_whole_file(tmp_path: Path) -> None:
    lines: list[str] = []
    write(SPEC, tmp_path / "phantom.gguf", lines.append)
    assert 2 <= len(lines) <= 10
    assert lines[-1] == "phantom: 0.3 of 0.3 MB written"


def test_a_place_that_cannot_be_written_is_named_with_the_mend(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"cannot be written to .*no-such.*\n.*another --mtp-cache-dir"):
        write(SPEC, tmp_path / "no-such" / "phantom.gguf")
