"""Headers of files on the disk: whole ones, the parts of a split one, and what is neither."""

from pathlib import Path

import pytest

from pytest_mtp.errors import InputError
from pytest_mtp.phantom.spec import PhantomSpec
from pytest_mtp.phantom.writer import write
from pytest_mtp.runtime.header import model_header
from tests.fakes.gguf_file import small_model, split_model, tensors

NAMES = {name for name, _, _ in tensors()}


def split(folder: Path, parts: int = 3) -> list[Path]:
    paths = [folder / f"big-{part:05}-of-{parts:05}.gguf" for part in range(1, parts + 1)]
    for path, data in zip(paths, split_model(parts), strict=True):
        path.write_bytes(data)
    return paths


def test_a_phantom_is_read_without_its_tensors(tmp_path: Path) -> None:
    spec = PhantomSpec(seed=7, layers=4, n_embd=64, n_ff=64, chain_length=20, weights="f16", wrong=(("code", 0.0),))
    write(spec, tmp_path / "phantom.gguf")
    header = model_header(tmp_path / "phantom.gguf")
    assert (header.architecture, header.block_count, header.nextn_layers) == ("qwen35", 5, 1)
    assert (header.size, header.quantization) == ((tmp_path / "phantom.gguf").stat().st_size, "F16")


@pytest.mark.parametrize("part", [0, 1, 2])
def test_any_part_stands_for_the_whole_model(part: int, tmp_path: Path) -> None:
    paths = split(tmp_path)
    header = model_header(paths[part])
    assert ({one.name for one in header.tensors}, header.architecture) == (NAMES, "qwen35")
    assert header.size == sum(path.stat().st_size for path in paths)


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_part_that_is_missing_is_named(missing: int, tmp_path: Path) -> None:
    paths = split(tmp_path)
    paths[missing].unlink()
    with pytest.raises(InputError, match=rf"The model .*{paths[missing].name} cannot be read \(No such file"):
        model_header(paths[missing - 1])


def test_a_part_that_is_truncated_is_named(tmp_path: Path) -> None:
    paths = split(tmp_path)
    paths[2].write_bytes(paths[2].read_bytes()[:-1])
    with pytest.raises(InputError, match=rf"{paths[2].name} is truncated"):
        model_header(paths[0])


def test_a_part_in_the_place_of_another_is_told(tmp_path: Path) -> None:
    paths = split(tmp_path)
    paths[1].write_bytes(paths[2].read_bytes())
    with pytest.raises(InputError, match=r"is split into 3 files, and not all of them are there \(only 1, 3, 3\)"):
        model_header(paths[0])


def test_a_part_whose_name_hides_the_others_says_how_to_name_it(tmp_path: Path) -> None:
    path = split(tmp_path)[0].rename(tmp_path / "renamed.gguf")
    with pytest.raises(
        InputError, match=r"name it as llama\.cpp does, NAME-00001-of-00003\.gguf, with all parts in one"
    ):
        model_header(path)


def test_a_name_that_cannot_be_is_an_input_error_too(tmp_path: Path) -> None:
    path = split(tmp_path)[0].rename(tmp_path / "big-00004-of-00003.gguf")
    with pytest.raises(InputError, match="says that it is part 4 of 3"):
        model_header(path)


@pytest.mark.parametrize(
    ("place", "why"),
    [("", "Is a directory"), ("none.gguf", "No such file or directory"), ("m.gguf/x", "Not a directory")],
)
def test_what_is_no_file_is_named_with_its_cause(place: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(small_model())
    with pytest.raises(InputError, match=rf"The model {tmp_path / place} cannot be read \({why}\); check --mtp-model"):
        model_header(tmp_path / place)
